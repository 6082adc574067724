// Two instances on one Redis hold a tenant to one plan: 300 requests, alternating, of which 100 pass.
import { fork } from 'node:child_process'
import { once } from 'node:events'

const say = (text) => process.stdout.write(`${text}\n`)

if (!process.env.REDIS_URL) {
  say('This example needs a Redis: REDIS_URL=redis://127.0.0.1:6379 npm start')
  process.exit(1)
}

const instances = [start(), start()]
const urls = await Promise.all(instances.map(addressOf))
const tenant = `acme-${Date.now()}`
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
  return fork(new URL('instance.js', import.meta.url))
}

async function addressOf(instance) {
  const [{ port }] = await once(instance, 'message')
  return `http://127.0.0.1:${port}/`
}

function request(url) {
  return fetch(url, { headers: { 'x-api-key': tenant } })
}
