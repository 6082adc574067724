// A process whose clock is wrong: node memcached-worker.mjs OPTIONS. It asks for one tenant for as long as a message says, and
// tells from when to when each decision took that let a request in, in ms of a clock that all processes share.
import { answerMessages } from '../../kit/children.mjs'

const { address, quota, windowMs, skewMs } = JSON.parse(process.argv[2])
// Before the limiter is loaded, which may keep the function.
const { now } = Date
Date.now = () => now() + skewMs

const { setTimeout: sleep } = await import('node:timers/promises')
const { createLimiter } = await import('@tollgate/core')
const { memcachedStore } = await import('@tollgate/memcached')

const CALLERS = 20
/** Callers that do not pause after a denial from memory would only keep the processor from the others. */
const PAUSE_MS = 2
/** So long that a noisy machine is not taken for a failed store. */
const DEADLINE_MS = 10_000

const limiter = createLimiter({
  limit: { quota, window: windowMs },
  store: memcachedStore(address, { prefix: 'accuracy' }),
  deadlineMs: DEADLINE_MS,
})
const clock = () => Number(process.hrtime.bigint()) / 1e6

async function caller(until, admitted) {
  while (clock() < until) {
    const began = clock()
    const { allowed, source } = await limiter.consume('acme')
    if (source !== 'store' && source !== 'cache') throw new Error(`decided by ${source}`)
    if (allowed) admitted.push([began, clock()])
    else await sleep(PAUSE_MS)
  }
}

await limiter.consume('somebody else')
answerMessages(async ({ ms }) => {
  const admitted = []
  const until = clock() + ms
  await Promise.all(Array.from({ length: CALLERS }, () => caller(until, admitted)))
  return { admitted }
}, {})
