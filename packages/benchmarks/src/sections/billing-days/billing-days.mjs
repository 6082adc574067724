// Subjects that are billed each on its own day, beside subjects whose month begins on the same day: the time of Node and of
// Redis for a decision.
import { startChild } from '../../kit/children.mjs'
import { commandUs } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.ONE_DAY, names.BILLING_DAYS, names.ONE_DAY_AGAIN]

export async function measure({ url, monitor, cellMs, rounds, isQuick }) {
  const children = new Map()
  for (const name of CONTENDERS) {
    const child = startChild('sections/billing-days/billing-days-worker.mjs', [name, url])
    await child.ask()
    children.set(name, child)
  }
  // The first request of each subject is not measured.
  for (const child of children.values()) await child.ask({ store: 'redis', ms: 50 })
  const turns = isQuick ? 3 : rounds + 4
  const grids = {
    memory: await takeTurns(children, turns, async (_name, child) => {
      const { us } = await child.ask({ store: 'memory', ms: cellMs })
      return { us }
    }),
    redis: await takeTurns(children, turns, async (_name, child) => {
      let answer
      const redisUs = await commandUs(monitor, async () => {
        answer = await child.ask({ store: 'redis', ms: cellMs })
      })
      return { us: answer.us, redisUs: redisUs / answer.decisions }
    }),
  }
  for (const child of children.values()) child.stop()
  return grids
}
