// Reads built declarations: which files the entry points of a package reach, and what each declares, imports and exports.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'

/** The `.d.ts` file that a relative import leads to, or undefined if it leads to another package. */
const target = (from, module) =>
  module.startsWith('.') ? join(dirname(from), module.replace(/\.js$/, '.d.ts')) : undefined

/** The entry points that a package's `exports` name, with the declarations of each. One for browsers has no form for `require`. */
export function entryPointsOf(exports) {
  return Object.entries(exports).flatMap(([path, entry]) => {
    const { types } = entry.import ?? entry
    return types ? [{ path, types }] : []
  })
}

/** All `.d.ts` files that these reach, with themselves. */
export function reachableFrom(entries) {
  const found = new Set(entries)
  for (const file of found) {
    for (const [, module] of readFileSync(file, 'utf8').matchAll(
      /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g,
    )) {
      const next = target(file, module)
      if (existsSync(next)) found.add(next)
    }
  }
  return found
}

/**
 * What a `.d.ts` file has.
 *
 * @returns `declared`: of each declaration of a name its `text` without comments, that with them, its docstring, and the names and places
 *   that it mentions; `imported`: where a local name comes
 *   from; `exported`: what a name of the file stands for; `stars`: modules whose names it all exports. A place is `{ file, name }`,
 *   or `{ module, name }` in another package
 */
export function readDeclarations(file) {
  const text = readFileSync(file, 'utf8')
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  const read = { declared: new Map(), imported: new Map(), exported: new Map(), stars: [], augments: [] }
  const place = (module, name) => {
    const next = target(file, module)
    return next ? { file: next, name } : { module, name }
  }
  for (const node of program.body) {
    const { type, source, declaration, specifiers = [] } = node
    if (type === 'ImportDeclaration') {
      for (const { local, imported } of specifiers)
        read.imported.set(
          local.name,
          place(source.value, imported?.name ?? (local.name === '*' ? '*' : 'default')),
        )
    } else if (type === 'ExportAllDeclaration') read.stars.push(place(source.value, '*'))
    else if (type === 'ExportNamedDeclaration' && !declaration) {
      for (const { local, exported } of specifiers)
        read.exported.set(
          exported.name,
          source ? place(source.value, local.name) : { file, name: local.name },
        )
    } else declare(declaration ?? node, Boolean(declaration), node.start)
  }
  return read

  function declare(node, isExported, begin) {
    const names = node.id ? [node.id.name] : (node.declarations ?? []).map(({ id }) => id.name)
    const one = { ...textsOf({ text, comments }, node, begin), ...mentionsOf(node) }
    one.places = one.places.map(([module, name]) => place(module, name))
    // `declare module 'fastify' { ... }` adds to the types of another package.
    if (node.type === 'TSModuleDeclaration') return void read.augments.push(one)
    for (const name of names) {
      read.declared.set(name, [...(read.declared.get(name) ?? []), one])
      if (isExported) read.exported.set(name, { file, name })
    }
  }
}

/** A declaration without comments, with them, and the docstring that ends where its statement begins. */
function textsOf({ text, comments }, node, begin) {
  const isBefore = (start) => (comment) =>
    comment.end <= start && text.slice(comment.end, start).trim() === ''
  const within = ({ start, end }) => start >= node.start && end <= node.end
  const hidden = privateMembers(node).filter(within)
  const onHidden = hidden.flatMap(({ start }) => comments.filter(isBefore(start)))
  const docstring = comments.findLast(isBefore(begin))?.value ?? ''
  return {
    text: withoutProse(withoutParts(text, node, [...comments.filter(within), ...hidden])),
    documented: withoutParts(text, node, [...onHidden, ...hidden]),
    docstring: docstring.startsWith('*') ? docstring.slice(1) : '',
  }
}

function privateMembers(node) {
  const found = []
  const member = (one) => {
    if (one.accessibility === 'private' || one.key?.type === 'PrivateIdentifier') found.push(one)
  }
  new Visitor({ PropertyDefinition: member, MethodDefinition: member, AccessorProperty: member }).visit(
    wrapped(node),
  )
  return found
}

/** The names that a declaration mentions, and what it mentions by the module and the name: `import('./a.js').B`. */
function mentionsOf(node) {
  const [mentions, places] = [new Set(), []]
  const type = ({ type: kind, name }) => {
    if (kind === 'Identifier') mentions.add(name)
  }
  new Visitor({
    TSTypeReference: ({ typeName }) => type(rootOf(typeName)),
    TSTypeQuery: ({ exprName }) => type(rootOf(exprName)),
    TSInterfaceHeritage: ({ expression }) => type(expression),
    TSClassImplements: ({ expression }) => type(expression),
    ClassDeclaration: ({ superClass }) => superClass && type(superClass),
    TSImportType: ({ source, qualifier }) => qualifier && places.push([source.value, rootOf(qualifier).name]),
  }).visit(wrapped(node))
  return { mentions, places }
}

const rootOf = (name) => (name.type === 'TSQualifiedName' ? rootOf(name.left) : name)
const wrapped = (node) => ({
  type: 'Program',
  body: [node],
  sourceType: 'module',
  start: node.start,
  end: node.end,
})

/** Texts for people that are types, such as what an error code means. Their wording is not part of what users can rely on. */
const withoutProse = (text) => text.replace(/'[^'\n]*'|"[^"\n]*"/g, (one) => (/ .* /.test(one) ? "'…'" : one))

/** The text of a node without these parts of it. */
function withoutParts(text, { start, end }, cut) {
  let [left, from] = ['', start]
  for (const part of cut.toSorted((a, b) => a.start - b.start)) {
    if (part.start < from) continue
    left += text.slice(from, part.start)
    from = part.end
  }
  return (left + text.slice(from, end))
    .replace(/^(export )?declare /, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/^\s*;?\n/gm, '')
    .replace(/\{\s+\}/g, '{}')
}
