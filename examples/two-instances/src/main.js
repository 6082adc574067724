// Two instances on one Redis hold a tenant to one plan: 300 requests, alternating, of which 100 pass.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const say = (text) => process.stdout.write(`${text}\n`)

if (!process.env.REDIS_URL) {
  say('This example needs a Redis: REDIS_URL=redis://127.0.0.1:6379 npm run example two-instances')
  process.exit(1)
}

// Counters of this run alone.
const REDIS_PREFIX = `two-instances:${Date.now()}`
const instances = [start(), start()]
const urls = await Promise.all(instances.map(addressOf))
const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => request(urls[i % 2])))
const last = await request(urls[0])
for (const instance of instances) instance.kill()

const passed = answers.map(({ status }, i) => (status === 200 ? i % 2 : -1))
const [first, second] = [0, 1].map((instance) => passed.filter((by) => by === instance).length)
say(`300 requests of one tenant on 100/min, alternating over two processes: ${first + second} passed,`)
say(`${first} at the first process and ${second} at the second. The next one got ${last.status}:`)
for (const name of ['ratelimit-policy', 'ratelimit', 'retry-after'])
  say(`  ${name}: ${last.headers.get(name)}`)
if (last.status === 503) say('Redis did not answer: is REDIS_URL right?')
process.exit(first + second === 100 && last.status === 429 ? 0 : 1)

function start() {
  const program = fileURLToPath(new URL('app.js', import.meta.url))
  const env = { ...process.env, PORT: '0', REDIS_PREFIX }
  return spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** It prints where it listens. */
async function addressOf(instance) {
  const [line] = await once(instance.stdout, 'data')
  return `${/http:\S+/.exec(String(line))[0]}/`
}

function request(url) {
  return fetch(url, { headers: { 'x-api-key': 'key-of-acme' } })
}
