// What limits.svg shows, by a real run: two requests of one cost against a plan with three limits, with a set clock.
import { createLimiter, memoryStore } from '@tollgate/core'

export const LIMITS = ['50/s', '400/min', '1000/day']
export const COST = 20
const [PER_SECOND, PER_MINUTE] = [50, 400]

/** @returns {Promise<{ allowed: boolean, limits: { name: string, quota: number, before: number, after: number, fits: boolean }[] }[]>} */
export async function runLimits() {
  const clock = { now: Date.UTC(2030, 0, 1, 12) }
  const limiter = createLimiter({ plans: { pro: LIMITS }, store: memoryStore({ now: () => clock.now }) })
  const spend = async (units) => {
    for (let left = units; left > 0; left -= PER_SECOND) {
      await limiter.consume('acme', { cost: Math.min(left, PER_SECOND) })
      clock.now += 1000
    }
  }
  const spendMinutes = async (units) => {
    for (let left = units; left > 0; left -= PER_MINUTE) {
      await spend(Math.min(left, PER_MINUTE))
      clock.now += 60_000
    }
  }
  const ask = async () => {
    const before = (await limiter.peek('acme')).limits
    const { allowed } = await limiter.consume('acme', { cost: COST })
    const after = (await limiter.peek('acme')).limits
    const limits = before.map(({ name, quota, remaining }, i) => ({
      ...{ name, quota, fits: remaining >= COST },
      ...{ before: quota - remaining, after: quota - after[i].remaining },
    }))
    return { allowed, limits }
  }
  await spendMinutes(400)
  await spend(150)
  const first = await ask()
  clock.now += 60_000
  await spendMinutes(300)
  await spend(120)
  const second = await ask()
  await limiter.close()
  return [first, second]
}
