// Starts the example twice on one Redis, and sends 300 requests of one tenant to both in turn. Then it doubles this tenant and
// blocks another one at the first instance, and waits until both hold at the second.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { AS_THIS_RUN } from '../example-kit/src/index.js'

const say = (text) => process.stdout.write(`${text}\n`)

if (!process.env.REDIS_URL) {
  say('This example needs Redis: REDIS_URL=redis://127.0.0.1:6379 npm run example two-instances')
  process.exit(1)
}

const env = { ...process.env, PORT: '0', EXAMPLE_RUN: randomUUID(), OPERATOR_KEY: randomUUID() }
const program = fileURLToPath(new URL('src/app.js', import.meta.url))
const start = () =>
  spawn(process.execPath, [AS_THIS_RUN, program], { env, stdio: ['ignore', 'pipe', 'inherit'] })

/** The address that an instance prints. */
async function addressOf(instance) {
  const [line] = await once(instance.stdout, 'data')
  return `${/http:\S+/.exec(String(line))[0]}/`
}
const ask = (url, key = 'key-of-acme') => fetch(url, { headers: { 'x-api-key': key } })
const operate = (path) =>
  fetch(urls[0] + path, { method: 'POST', headers: { 'x-operator-key': env.OPERATOR_KEY } })

/** Asks until an answer is as expected, for what another process has changed. Resolves to how long that took, in ms. */
async function whenAnswered(ask, isExpected) {
  const begin = performance.now()
  while (performance.now() - begin < 30_000) {
    if (isExpected(await ask())) return Math.round(performance.now() - begin)
    await sleep(20)
  }
  return undefined
}

const instances = [start(), start()]
const urls = await Promise.all(instances.map(addressOf))
const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => ask(urls[i % 2])))
const last = await ask(urls[0])
const passedAt = [0, 1].map(
  (one) => answers.filter(({ status }, i) => status === 200 && i % 2 === one).length,
)
const passed = passedAt[0] + passedAt[1]
say(`300 requests of one tenant on 100/min, to two processes in turn: ${passed} passed,`)
say(
  `${passedAt[0]} at the first process and ${passedAt[1]} at the second. The next answer is ${last.status}:`,
)
for (const name of ['ratelimit-policy', 'ratelimit', 'retry-after'])
  say(`  ${name}: ${last.headers.get(name)}`)
if (last.status === 503) say('Redis did not answer: is REDIS_URL right?')

await operate('operators/double/acme')
const doubledIn = await whenAnswered(
  () => ask(urls[1]),
  ({ headers }) => headers.get('ratelimit-policy') === '"minute";q=200;w=60',
)
say(`acme doubled at the first process: 200/min at the second after ${doubledIn} ms.`)
await operate('operators/block/globex')
const blockedIn = await whenAnswered(
  () => ask(urls[1], 'key-of-globex'),
  ({ status }) => status === 403,
)
say(`globex blocked at the first process: 403 at the second after ${blockedIn} ms.`)

for (const instance of instances) instance.kill()
const isRight = passed === 100 && last.status === 429 && doubledIn !== undefined && blockedIn !== undefined
process.exit(isRight ? 0 : 1)
