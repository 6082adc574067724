// A process of the accuracy section: node accuracy-worker.mjs REDIS_URL CLOCK_MS. Answers each message with how many of
// the requests were allowed, by contender.
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

process.on('message', async ({ load, id, count, at }) => {
  try {
    if (!made.has(load.windowMs)) made.set(load.windowMs, makeAll(client, load))
    const contenders = made.get(load.windowMs)
    if (at) await new Promise((resolve) => setTimeout(resolve, at - now()))
    const counts = count ? await Promise.all([...contenders].map((one) => burst(one, id, count))) : []
    process.send({ counts: Object.fromEntries(counts) })
  } catch (error) {
    process.send({ error: error.message })
  }
})
process.on('disconnect', () => process.exit(0))
process.send({})

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
