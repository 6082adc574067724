// Waiting in line: how late a request goes on after the delay that it was told, and what the store is asked meanwhile.
import { createLimiter, redisStore } from '@tollgate/core'
import { commandsOf } from '../../kit/redis.mjs'
import { quantile } from '../../kit/statistics.mjs'
import * as names from '../../names.mjs'

const BURST = 100
/** Half of what may wait: so one whose process was held up has time to ask again. */
const IN_LINE = BURST / 2
const PLAN = { limits: `${BURST}/s burst ${BURST}`, wait: { maxDelay: '1s', maxWaiting: BURST } }

export async function waiting(client, monitor, rounds) {
  const limiter = createLimiter({
    ...{ store: redisStore(client, { prefix: 'bench-99' }), plans: { line: PLAN }, defaultPlan: 'line' },
    ...{ deadlineMs: 10_000, local: { instances: 1 }, warnings: false },
  })
  const figures = { p50: [], p99: [], max: [], calls: [] }
  for (let round = 0; round < rounds; round += 1) {
    const { late, calls } = await oneLine(limiter, monitor, `line-${round}`)
    figures.p50.push(quantile(late, 0.5))
    figures.p99.push(quantile(late, 0.99))
    figures.max.push(Math.max(...late))
    figures.calls.push(calls)
  }
  await limiter.close()
  return { [names.WAITING]: figures }
}

/** Requests that wait go on in the order in which they were booked. */
async function oneLine(limiter, monitor, id) {
  const due = []
  const late = []
  let booked = 0
  const listener = ({ kind, delayMs }) => {
    if (kind === 'booked') {
      due.push(performance.now() + delayMs)
      booked += 1
    } else {
      const ms = performance.now() - due.shift()
      if (kind === 'admitted') late.push(ms)
    }
  }
  limiter.on('waiting', listener)
  let atOnce = 0
  const answers = Array.from({ length: BURST + IN_LINE }, async () => {
    const { allowed, source } = await limiter.consume(id)
    if (!allowed) throw new Error('A request was denied')
    if (source === 'store') atOnce += 1
  })
  while (atOnce + booked < answers.length) await new Promise((resolve) => void setTimeout(resolve, 1))
  const { calls } = await commandsOf(monitor, () => Promise.all(answers))
  limiter.off('waiting', listener)
  return { late, calls }
}
