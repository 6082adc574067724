// Assembles the scripts of src/stores/redis/scripts with the algorithms they include, and writes them with their SHA-1 hashes
// into a generated module, so that no files are read at run time. Pieces that several scripts have are written once.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutComments } from './lua-comments.mjs'

const src = join(dirname(fileURLToPath(import.meta.url)), '../src')

/** The scripts that contain all algorithms, and the parts of these that each needs besides deciding. */
const scripts = { consume: ['tail', 'force'], refund: ['tail', 'force', 'refund'], rules: [], board: [] }
const otherwise = ['tail', 'force']

const folder = join(src, 'algorithms')
const read = (...path) => readFileSync(join(src, ...path), 'utf8')

// A folder of an algorithm has NAME.ts and NAME.lua, and NAME.PART.lua of a long one.
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()
const missing = names.filter((name) => !existsSync(join(folder, name, `${name}.ts`)))
if (missing.length > 0) throw new Error(`no TypeScript twin of ${missing.join(', ')}`)

/** Requests in flight are no limit of consume-run: each key has numbers of its own. */
const alone = names.filter((name) => name !== 'concurrent')
/** Each subject has billing windows of its own, which the script for slots has no room for. */
const counting = alone.filter((name) => name !== 'billing-window')

/** Stands alone in a line where a piece begins or ends. */
const CUT = '\0'
const piece = (text) => `\n${CUT}\n${text}\n${CUT}\n`

/** The name of an algorithm's table in its own file. */
const localOf = (name) => name.replaceAll('-', '_')

/**
 * The text of an algorithm. Code behind `-- @part NAME`, up to the next such line, is only put into scripts that need
 * it: each function that a script makes costs time at every run.
 */
function algorithm(name, parts) {
  const { main, others } = partsOf(name)
  const wanted = Object.entries(others).filter(([part]) => parts.includes(part))
  const texts = [main, ...wanted.map(([part, code]) => (part === 'force' ? onlyWithForce(code) : code))]
  return texts.map(piece).join('')
}

/** Most runs of a script count no units of earlier. */
function onlyWithForce(code) {
  return `if with_force then\n${read('stores/redis/scripts/shared/units-that-fit.lua')}${code}\nend\n`
}

function partsOf(name) {
  const [main, ...others] = read('algorithms', name, `${name}.lua`).split('-- @part ')
  const split = others.map((text) => [
    text.slice(0, text.indexOf('\n')),
    withIncludes(text.slice(text.indexOf('\n') + 1)),
  ])
  return { main: withIncludes(main), others: Object.fromEntries(split) }
}

function withIncludes(text) {
  return text.replace(/^-- @include (.+)$/gm, (_, path) => piece(withIncludes(read(path))))
}

/**
 * The quick part of an algorithm as the function `quick`, and the packing and the size of its state. An algorithm can be without a quick part.
 */
function quickOf(name) {
  const { main, others } = partsOf(name)
  const text =
    others.quick && piece(others.quick.replace(`function ${localOf(name)}.quick`, 'local function quick'))
  const [, packing, size] = /format = '(\w+)', size = (\d+)/.exec(main)
  return { text, packing, size: Number(size) }
}

/** The quick parts of all algorithms as one function, so that a script makes only those it uses. */
function quicks() {
  const makers = names.map((name) => {
    const { text, packing, size } = quickOf(name)
    if (!text) return ''
    // As value.lua says: a part behind the header of a value, a part alone, and its bytes with those of the state id.
    const part = `'>I1I7I4I4${packing}', '>I4${packing}', ${4 + size}`
    return `if name == '${name}' then\n${text}\nreturn ${part}, quick(a, b, c, d, e)\nend\n`
  })
  return `local function quick(name, _, a, b, c, d, e)\n${makers.join('')}end\n`
}

/** Where the parameters of the only limit of a script begin in ARGV. */
const FIRST_PARAMETER = { 'consume-run': 6, 'consume-slots': 11 }

/** The quick part of the only algorithm of a script, with the parameters of its limit. */
function quickAlone(name, script) {
  const { text, packing, size } = quickOf(name)
  const first = FIRST_PARAMETER[script]
  // More numbers follow those of the limit there. One of no bytes is 0, so that each limit has three.
  const filled = script === 'consume-slots' ? packing.padEnd(6, 'I0') : packing
  const [, parameters = ''] = /function quick\((.*)\)/.exec(text ?? '') ?? []
  const values = parameters.split(', ').map((_, i) => `ARGV[${first + i}] + 0`)
  return [
    text,
    `local take_quickly, entry, entry_packing${text ? ` = quick(${values.join(', ')})` : ''}`,
    `local PACKING, SIZE = HEADER_FORMAT .. 'I4${filled}', HEADER + STATE_ID + ${size}`,
    `local algorithm_name, FIRST_PARAMETER = '${name}', ${first}\n`,
  ].join('\n')
}

// The algorithms are made by one function, so that a script makes only those it uses. This function also holds the
// locals that they share: a function that takes them from the script's top level needs a search for each.
function algorithms(parts) {
  const makers = names.map(
    (name) => `if name == '${name}' then\n${algorithm(name, parts)}\nreturn ${localOf(name)}\nend`,
  )
  return `local NAMES = { '${names.join("', '")}' }\nlocal function make(name, with_force)\n${makers.join('\n')}\nend\n`
}

/**
 * @param only the algorithm of a script for limits of one
 * @returns the pieces of its text
 */
function assemble(script, only) {
  const includes = {
    quick: () => (only ? quickAlone(only, script) : quicks()),
    'rows in flight': () => read('algorithms/concurrent/concurrent.rows.lua'),
    algorithms: () => algorithms(scripts[script] ?? otherwise),
  }
  const include = (file) =>
    read('stores/redis/scripts', file).replace(/^ *-- @include (.+)$/gm, (_, part) =>
      piece(includes[part]?.() ?? include(part)),
    )
  const pieces = withoutComments(include(`${script}.lua`)).split(`${CUT}\n`)
  return pieces.filter((text) => text !== '')
}

const general = Object.fromEntries(Object.keys(scripts).map((name) => [name, assemble(name)]))
const runs = Object.fromEntries(alone.map((name) => [name, assemble('consume-run', name)]))
const slots = Object.fromEntries(counting.map((name) => [name, assemble('consume-slots', name)]))

const times = new Map()
for (const one of [general, runs, slots].flatMap((each) => Object.values(each)).flat()) {
  times.set(one, (times.get(one) ?? 0) + 1)
}
/** The pieces of several scripts, and the names that they get. */
const shared = new Map(
  [...times.keys()].filter((one) => times.get(one) > 1).map((one, index) => [one, `PIECE_${index + 1}`]),
)

function module(pieces) {
  const sha1 = createHash('sha1').update(pieces.join('')).digest('hex')
  const text = pieces.map((one) => shared.get(one) ?? JSON.stringify(one)).join(' + ')
  return `{ text: ${text}, sha1: '${sha1}' }`
}

const record = (each) => Object.entries(each).map(([name, pieces]) => `  '${name}': ${module(pieces)},`)

// With types, so that the texts are not repeated in the .d.ts file.
const lines = [
  '// Generated by scripts/embed-lua.mjs from the .lua files: do not edit.',
  'interface ScriptText { readonly text: string; readonly sha1: string }',
  `type Counting = ${counting.map((name) => `'${name}'`).join(' | ')}`,
  "type Algorithm = Counting | 'billing-window'",
  ...[...shared].map(([text, name]) => `const ${name} = ${JSON.stringify(text)}`),
  ...Object.entries(general).map(
    ([name, pieces]) => `export const ${name}Script: ScriptText = ${module(pieces)}`,
  ),
  'export const consumeRunScripts: Readonly<Record<Algorithm, ScriptText>> = {',
  ...record(runs),
  '}',
  'export const consumeSlotsScripts: Readonly<Record<Counting, ScriptText>> = {',
  ...record(slots),
  '}',
]
writeFileSync(join(src, 'stores/redis/scripts/scripts.generated.ts'), `${lines.join('\n')}\n`)
