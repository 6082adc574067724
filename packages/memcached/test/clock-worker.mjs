// A process whose clock is wrong by SKEW_MS. It asks for one tenant as fast as it is answered, and tells the parent from when to
// when each decision took that let a request in, by a clock that all processes share, and how long the longest one took.
const { SKEW_MS, ADDRESS, PREFIX, QUOTA, WINDOW_MS, CALLERS } = process.env
const { now } = Date
Date.now = () => now() + Number(SKEW_MS)

const { createLimiter } = await import('@tollgate/core')
const { memcachedStore } = await import('@tollgate/memcached')

const limiter = createLimiter({
  limit: { quota: Number(QUOTA), window: Number(WINDOW_MS) },
  store: memcachedStore(ADDRESS, { prefix: PREFIX }),
  deadlineMs: 10_000,
})
const admitted = []
let longestMs = 0
let isOver = false
/** In how many runs of requests nothing was left. */
let denials = 0
let wasAllowed = true

const nowMs = () => Number(process.hrtime.bigint()) / 1e6

async function caller() {
  while (!isOver) {
    const began = nowMs()
    const { allowed, source } = await limiter.consume('acme')
    if (source !== 'store' && source !== 'cache') throw new Error(`decided by ${source}`)
    if (!allowed && wasAllowed) process.send({ denials: (denials += 1) })
    wasAllowed = allowed
    const ended = nowMs()
    longestMs = Math.max(longestMs, ended - began)
    if (allowed) admitted.push([began, ended])
    // 200 callers that never pause would only measure this machine.
    else await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

process.on('message', async () => {
  isOver = true
  await callers
  await limiter.close()
  process.send({ admitted, longestMs }, () => process.disconnect())
})

await limiter.consume('somebody else')
process.send('ready')
const callers = Promise.all(Array.from({ length: Number(CALLERS) }, caller))
