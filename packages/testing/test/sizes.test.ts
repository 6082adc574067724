// The sizes that files and functions of published packages must keep, in lines including blanks and comments.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { nodesOf, parseTypeScript, read, root, sources, type Node } from './source-files.ts'

interface Size {
  readonly what: string
  readonly lines: number
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}

function functionsOfTypeScript(file: string): Size[] {
  // Spans count bytes, beginning with 1.
  const bytes = Buffer.from(read(file))
  const lineOf = (at: number): number => linesOf(bytes.subarray(0, at - 1).toString()) + 1
  const sizes: Size[] = []
  for (const node of nodesOf(parseTypeScript(bytes.toString()))) {
    if (!isFunction(node)) continue
    const { start, end } = node.span as { readonly start: number; readonly end: number }
    const [from, to] = [lineOf(start), lineOf(end)]
    sizes.push({ what: `${file}:${from}`, lines: to - from + 1 })
  }
  return sizes
}

/** Whether a node is a function of any kind. The inner node of a method, without a type, does not count again. */
function isFunction({ type, body, function: method }: Node): boolean {
  const own = (body ?? (method as Node | undefined)?.body) as Node | null | undefined
  return type === 'ArrowFunctionExpression' || (typeof type === 'string' && own?.type === 'FunctionBody')
}

function functionsOfLua(file: string): Size[] {
  const { parse } = createRequire(join(root, 'packages/core/package.json'))('luaparse')
  const chunk = parse(read(file), { luaVersion: '5.1', locations: true })
  return [...nodesOf(chunk)]
    .filter(({ type }) => type === 'FunctionDeclaration')
    .map(({ loc }) => loc as { readonly start: { line: number }; readonly end: { line: number } })
    .map(({ start, end }) => ({ what: `${file}:${start.line}`, lines: end.line - start.line + 1 }))
}

function functionsOf(file: string): Size[] {
  return file.endsWith('.lua') ? functionsOfLua(file) : functionsOfTypeScript(file)
}

const longerThan = (most: number, sizes: readonly Size[]): string[] =>
  sizes.filter(({ lines }) => lines > most).map(({ what, lines }) => `${what} has ${lines} lines`)

test('a file is one thing that reads top to bottom, in at most 350 lines', () => {
  const files = sources.map((what) => ({ what, lines: linesOf(read(what)) }))
  expect(longerThan(350, files)).toEqual([])
})

/** For each file of a package those that import it. */
function importersIn(files: readonly string[]): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>(files.map((file) => [file, new Set()]))
  for (const file of files.filter((one) => one.endsWith('.ts'))) {
    for (const [, path = ''] of read(file).matchAll(/ from '(\.[^']+)'/g))
      importers.get(join(dirname(file), path).replace(/\.js$/, '.ts'))?.add(file)
  }
  return importers
}

test('what has one user lives with it: no file under 30 lines has a single importer', () => {
  const all = [...importersIn(sources)]
  expect(Math.max(...all.map(([, users]) => users.size))).toBeGreaterThan(50)
  const alone = all.filter(([file, users]) => users.size === 1 && linesOf(read(file)) < 30)
  expect(alone.map(([file]) => file)).toEqual([])
})

test('a folder of core shows what is in it: at most 15 files', () => {
  const counts = new Map<string, number>()
  for (const file of sources.filter((one) => one.startsWith('packages/core/')))
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  expect(counts.size).toBeGreaterThan(20)
  expect([...counts].filter(([, files]) => files > 15)).toEqual([])
})

test('a function fits on a screen: at most 40 lines', () => {
  const functions = sources.flatMap(functionsOf)
  expect(functions.length).toBeGreaterThan(500)
  expect(longerThan(40, functions)).toEqual([])
})
