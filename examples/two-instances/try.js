// Starts the example twice on one Redis, and sends 300 requests of one tenant to both in turn.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { AS_THIS_RUN } from '../example-kit/src/index.js'

const say = (text) => process.stdout.write(`${text}\n`)

if (!process.env.REDIS_URL) {
  say('This example needs Redis: REDIS_URL=redis://127.0.0.1:6379 npm run example two-instances')
  process.exit(1)
}

const env = { ...process.env, PORT: '0', EXAMPLE_RUN: randomUUID() }
const program = fileURLToPath(new URL('src/app.js', import.meta.url))
const start = () =>
  spawn(process.execPath, [AS_THIS_RUN, program], { env, stdio: ['ignore', 'pipe', 'inherit'] })

/** The address that an instance prints. */
async function addressOf(instance) {
  const [line] = await once(instance.stdout, 'data')
  return `${/http:\S+/.exec(String(line))[0]}/`
}
const ask = (url) => fetch(url, { headers: { 'x-api-key': 'key-of-acme' } })

const instances = [start(), start()]
const urls = await Promise.all(instances.map(addressOf))
const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => ask(urls[i % 2])))
const last = await ask(urls[0])
for (const instance of instances) instance.kill()

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
process.exit(passed === 100 && last.status === 429 ? 0 : 1)
