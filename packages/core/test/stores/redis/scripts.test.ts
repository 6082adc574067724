import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, type Chunk, type Expression } from 'luaparse'
import { implementations, windowAlgorithms } from '../../../src/algorithms/registry.js'
import { COMMANDS } from '../../../src/stores/redis/reactions.js'
import * as generated from '../../../src/stores/redis/scripts/scripts.generated.js'

const src = join(__dirname, '../../../src')
const GLOBALS = [
  ...[
    'ARGV',
    'KEYS',
    'cjson',
    'error',
    'math',
    'pairs',
    'pcall',
    'redis',
    'string',
    'struct',
    'table',
    'tonumber',
  ],
  ...['tostring', 'type', 'unpack'],
]

const { consumeRunScripts, consumeSlotsScripts, ...others } = generated
const runs = Object.entries(consumeRunScripts)
const slots = Object.entries(consumeSlotsScripts)
const scripts = [
  ...Object.entries(others).map(([name, { text }]) => [name, name.replace('Script', ''), text] as const),
  ...runs.map(([name, { text }]) => [`consume-run of ${name}`, 'consume-run', text] as const),
  ...slots.map(([name, { text }]) => [`consume-slots of ${name}`, 'consume-slots', text] as const),
]

test('there are scripts to check', () => {
  expect(Object.keys(others)).toEqual(['boardScript', 'consumeScript', 'refundScript', 'rulesScript'])
  expect(runs.map(([name]) => name)).toEqual(windowAlgorithms.toSorted())
  // Each subject has billing windows of its own, which the script for slots has no room for.
  const counting = windowAlgorithms.filter((name) => name !== 'billing-window')
  expect(slots.map(([name]) => name)).toEqual(counting.toSorted())
})

describe.each(scripts)('%s', (_, name, text) => {
  const chunk = parse(text, { luaVersion: '5.1', scope: true }) as Chunk & { globals: { name: string }[] }

  test('uses no global that Redis does not have', () => {
    const used = new Set(chunk.globals.map((global) => global.name))
    expect([...used].filter((global) => !GLOBALS.includes(global))).toEqual([])
  })

  test('is sent without comments and blank lines', () => {
    expect(text).not.toMatch(/--|^\s|\n\s/)
    const { comments } = parse(text, { luaVersion: '5.1', comments: true }) as Chunk & { comments: unknown[] }
    expect(comments).toEqual([])
  })

  test('has no shebang line', () => {
    expect(text).not.toMatch(/^#!/)
  })

  test('calls only commands of the rule for users of Redis', () => {
    const commands = commandsIn(text)
    expect(commands).toContain(name === 'rules' || name === 'board' ? 'hget' : 'get')
    expect(commands.filter((command) => !COMMANDS.includes(command as never))).toEqual([])
  })

  test('reads the ARGV that its header speaks of, and its keys from KEYS only', () => {
    const file = readFileSync(join(src, `stores/redis/scripts/${name}.lua`), 'utf8')
    const [, header = ''] = /^--\[\[([\s\S]*?)\]\]/.exec(file) ?? []
    const told = [...header.matchAll(/^ {2}ARGV\[(\d+)(?:\.\.\.)?\]/gm)].map(([, index]) => Number(index))
    const read = [...text.matchAll(/ARGV\[(\d+)\]|(?<=cjson.decode.*), (\d+)$/gm)].map(([, a, b]) =>
      Number(a ?? b),
    )
    expect(
      [...new Set(read)].sort((a, b) => a - b).filter((index) => !((told.at(-1) as number) < index)),
    ).toEqual(told)
    expect(header).toMatch(/^ {2}KEYS\[[i1]\]/m)
    expect(text).toMatch(/\bKEYS\b/)
    for (const part of ['Returns', 'State', 'Complexity']) expect(header).toContain(part)
  })
})

test('every command of the rule is used, by a script or by the store', () => {
  const ofStore = ['evalsha', 'eval', 'del']
  const used = new Set([...ofStore, ...scripts.flatMap(([, , text]) => commandsIn(text))])
  expect([...used].sort()).toEqual(COMMANDS.toSorted())
})

/** The commands of Redis that a script calls, each once. A call whose command is not written out is an error. */
function commandsIn(text: string): string[] {
  const commands = new Set<string>()
  const add = (command: Expression | undefined): void => {
    if (command?.type !== 'StringLiteral') throw new Error(`a command that is not written out in ${text}`)
    // The other scopes of luaparse lose a text's value; `raw` has its quotes.
    commands.add(command.raw.slice(1, -1).toLowerCase())
  }
  parse(text, {
    luaVersion: '5.1',
    onCreateNode: (node) => {
      if (node.type !== 'CallExpression') return
      const [first, second] = node.arguments
      const name = nameOf(node.base)
      if (CALLERS.includes(name)) add(first)
      else if (name === 'pcall' && first && CALLERS.includes(nameOf(first))) add(second)
    },
  })
  return [...commands]
}

/** The names by which scripts call Redis. */
const CALLERS = ['call', 'try', 'redis.call', 'redis.pcall']

function nameOf(node: Expression): string {
  if (node.type === 'Identifier') return node.name
  return node.type === 'MemberExpression' ? `${nameOf(node.base)}.${node.identifier.name}` : ''
}

test('what is no comment stays: dashes in strings and long brackets', () => {
  const lua = [
    `local a = '--[[ no' -- comment 'with' "quotes"`,
    `local b = "it's \\" -- no" --[==[ comment ]]`,
    `  over lines ]==] local c = [[-- no]] .. [=[ ]] -- no ]=] - -1`,
    `--[[ ]] return a .. b --`,
  ].join('\n')
  const module = join(src, '../scripts/lua-comments.mjs')
  const program = `import { withoutComments } from ${JSON.stringify(module)}
    process.stdout.write(withoutComments(${JSON.stringify(lua)}))`
  const bare = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const meaning = (text: string): unknown => parse(text, { luaVersion: '5.1' }).body
  expect(meaning(bare)).toEqual(meaning(lua))
  expect(bare).not.toContain('comment')
})

test('every algorithm has both twins, under one code that nobody else has', () => {
  const names = readdirSync(join(src, 'algorithms'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect(names.sort()).toEqual(Object.keys(implementations).sort())
  const codes = Object.entries(implementations).map(([name, { code }]) => {
    const lua = readFileSync(join(src, 'algorithms', name, `${name}.lua`), 'utf8')
    expect(lua).toContain(`local ${name.replaceAll('-', '_')} = { code = ${code},`)
    return code
  })
  expect(new Set(codes).size).toBe(codes.length)
})
