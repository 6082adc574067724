// Subjects that are billed each on its own day, beside subjects whose month begins on the same day: the time of Node and of
// Redis for a decision.
import { startChild } from '../../kit/children.mjs'
import { commandUs } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.ONE_DAY, names.BILLING_DAYS, names.ONE_DAY_AGAIN]

export async function measure({ url, monitor, cellMs, rounds, isQuick }) {
  const contenders = new Map(CONTENDERS.map((name) => [name, name]))
  const turns = isQuick ? 3 : rounds + 4
  // Each cell has a process of its own: two of the same contender differ by up to a tenth as long as they run.
  const cell = (store, measured) => async (name) => {
    const child = startChild('sections/billing-days/billing-days-worker.mjs', [name, url])
    await child.ask()
    // The first requests of each subject are not measured.
    await child.ask({ store, ms: cellMs })
    const figures = await measured(() => child.ask({ store, ms: cellMs }))
    child.stop()
    return figures
  }
  return {
    memory: await takeTurns(
      contenders,
      turns,
      cell('memory', async (decide) => ({ us: (await decide()).us })),
    ),
    redis: await takeTurns(
      contenders,
      turns,
      cell('redis', async (decide) => {
        let answer
        const redisUs = await commandUs(monitor, async () => {
          answer = await decide()
        })
        return { us: answer.us, redisUs: redisUs / answer.decisions }
      }),
    ),
  }
}
