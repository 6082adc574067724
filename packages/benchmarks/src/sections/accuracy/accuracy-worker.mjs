// A process of the accuracy section: node accuracy-worker.mjs REDIS_URL CLOCK_MS. Answers each message with how many of
// the requests were allowed, by contender.
import { answerMessages } from '../../kit/children.mjs'

const [url, clockMs] = process.argv.slice(2)
// Before the limiters are loaded, which may keep the function.
const now = Date.now
Date.now = () => now() + Number(clockMs)

const { Redis } = await import('ioredis')
const { makeAll } = await import('./accuracy-field.mjs')
const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
await client.ping()
/** By the window: a limiter is made once in a process. */
const made = new Map()

answerMessages(async ({ load, id, count, at }) => {
  if (!made.has(load.windowMs)) made.set(load.windowMs, makeAll(client, load))
  const contenders = made.get(load.windowMs)
  if (at) await new Promise((resolve) => setTimeout(resolve, at - now()))
  const counts = count ? await Promise.all([...contenders].map((one) => burst(one, id, count))) : []
  return { counts: Object.fromEntries(counts) }
}, {})

async function burst([name, { decide, allowed }], id, count) {
  const one = async () => {
    try {
      return allowed(await decide(id), false)
    } catch (error) {
      return allowed(error, true)
    }
  }
  const answers = await Promise.all(Array.from({ length: count }, one))
  return [name, answers.filter(Boolean).length]
}
