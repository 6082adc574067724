// What the docs show of the command line is what it says: each command of docs/operations/command-line.md is run again.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { createLimiter, denialReferences, redisStore, type LimiterOptions } from '@tollgate/core'
import { deployOne, type Deployment } from '@tollgate/testing'
import { folderWith, tollgate } from './command-line.ts'

const SECRET = 'a secret of the references'
const page = readFileSync(join(__dirname, '../../../docs/operations/command-line.md'), 'utf8')
const [, config = ''] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? []
/** Each command of the page, with what it prints there. */
const shown = [...page.matchAll(/^```\n(\$ [\s\S]*?)^```$/gm)]
  .flatMap(([, text = '']) => text.split(/^\$ /m).slice(1))
  .map((text) => ({ command: text.split('\n')[0] ?? '', output: text.slice(text.indexOf('\n') + 1) }))

/** Times, lengths of time and people differ. Columns are as wide as their values. */
function comparable(text: string): string {
  return text
    .replaceAll(`${userInfo().username}@${hostname()}`, 'root@ops')
    .replace(/[A-Z][a-z]{2} \d+ [A-Z][a-z]{2} (\d{4} )?\d\d:\d\d(:\d\d)?/g, 'TIME')
    .replace(/\b\d+ (d|h|min|s)( \d+ (h|min|s))?\b/g, 'LENGTH')
    .replace(/ More is back in LENGTH\./g, '')
    .replace(/ +/g, ' ')
    .trim()
}

const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '').slice(1)

let redis: Deployment
beforeAll(async () => {
  redis = await deployOne()
})
afterAll(() => redis.end())

test('shows seven commands', () => {
  expect(shown.map(({ command }) => wordsOf(command)[0])).toEqual([
    ...['show', 'override', 'why', 'block', 'rules', 'top-up', 'check'],
  ])
})

test('each prints what the page says', async () => {
  const folder = folderWith({ 'tollgate.config.mjs': config })
  const [client] = redis.operators
  const program = `${config.replace('export default', 'const options =')}\nconsole.log(JSON.stringify(options))`
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const options = JSON.parse(printed) as LimiterOptions
  const limiter = createLimiter({
    ...options,
    store: redisStore(client as never),
    deadlineMs: 10_000,
    denials: false,
    warnings: false,
  })
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  const reference = denialReferences({ secret: SECRET }).of(await limiter.consume('acme'))
  await limiter.close()
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.ports[0]}`, TOLLGATE_SECRET: SECRET }
  for (const { command, output } of shown) {
    const words = wordsOf(command).map((word) => (word === 'urn:tollgate:AZ…' ? reference : word))
    const ended = await tollgate(words, { env, cwd: folder.cwd })
    expect({ command, text: comparable(ended.stdout) }).toEqual({ command, text: comparable(output) })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  }
  folder.remove()
})
