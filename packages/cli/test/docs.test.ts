// What the docs show of the command line is what it says: each command of these pages is run again.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import {
  createLimiter,
  denialReferences,
  redisStore,
  type Limiter,
  type LimiterOptions,
} from '@tollgate/core'
import { deployOne, type Deployment } from '@tollgate/testing'
import { folderWith, tollgate } from './command-line.ts'

const SECRET = 'a secret of the references'
const pageOf = (name: string): string =>
  readFileSync(join(__dirname, `../../../docs/operations/${name}.md`), 'utf8')
const [, config = ''] = /^```js\n([\s\S]*?)^```$/m.exec(pageOf('command-line')) ?? []

/** Each command of a page, with what it prints there. */
function commandsOf(page: string): { readonly command: string; readonly output: string }[] {
  return [...page.matchAll(/^```\n(\$ [\s\S]*?)^```$/gm)]
    .flatMap(([, text = '']) => text.split(/^\$ /m).slice(1))
    .map((text) => ({ command: text.split('\n')[0] ?? '', output: text.slice(text.indexOf('\n') + 1) }))
}

/** Times, lengths of time and people differ. Columns are as wide as their values. */
function comparable(text: string): string {
  return text
    .replaceAll(`${userInfo().username}@${hostname()}`, 'root@ops')
    .replace(/[A-Z][a-z]{2} \d+ [A-Z][a-z]{2} (\d{4} )?\d\d:\d\d(:\d\d)?/g, 'TIME')
    .replace(/\b\d\d:\d\d:\d\d\b/g, 'TIME')
    .replace(/\b[\d.]+ (d|h|min|s|ms)( \d+ (h|min|s))?\b/g, 'LENGTH')
    .replace(/[\d.]+ a second/, 'N a second')
    .replace(/\d+ process(es)?/, 'N processes')
    .replace(/ More is back in LENGTH\./g, '')
    .replace(/ +/g, ' ')
    .trim()
}

const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '').slice(1)

const PAGES: [page: string, commands: readonly string[]][] = [
  ['command-line', ['show', 'override', 'why', 'block', 'rules', 'top-up', 'check']],
  ['a-customer-complains', ['why', 'show', 'override', 'history', 'top']],
]

let redis: Deployment
let limiter: Limiter
beforeEach(async () => {
  redis = await deployOne()
})
afterEach(async () => {
  await limiter.close()
  await redis.end()
})

test.each(PAGES)('each command of %s prints what the page says', async (name, names) => {
  const shown = commandsOf(pageOf(name))
  expect(shown.map(({ command }) => wordsOf(command)[0])).toEqual(names)
  const folder = folderWith({ 'tollgate.config.mjs': config })
  const [client] = redis.operators
  const program = `${config.replace('export default', 'const options =')}\nconsole.log(JSON.stringify(options))`
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const options = JSON.parse(printed) as LimiterOptions
  const store = redisStore(client as never)
  limiter = createLimiter({ ...options, store, deadlineMs: 10_000, denials: false, warnings: false })
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  const reference = denialReferences({ secret: SECRET }).of(await limiter.consume('acme'))
  // What the application puts down every 10 s.
  await limiter.traffic()
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.ports[0]}`, TOLLGATE_SECRET: SECRET }
  for (const { command, output } of shown) {
    if (command.startsWith('tollgate top ')) await limiter.consume('globex')
    const words = wordsOf(command).map((word) => (word === 'urn:tollgate:AZ…' ? reference : word))
    const ended = await tollgate(words, { env, cwd: folder.cwd })
    expect({ command, text: comparable(ended.stdout) }).toEqual({ command, text: comparable(output) })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  }
  folder.remove()
})
