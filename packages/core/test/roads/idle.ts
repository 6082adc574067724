// Law 8 in real time: the windows last some ms, and after them no key may be left.
import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { createLimiter, redisStore, type Decision, type Limiter } from '../../src/index.js'
import { capacityOf } from './limits.js'
import { forEachOf } from './many.js'
import { inputsOf, plansInput, subjectsOf } from './places.js'
import { scheduleOf, type Ask, type Plans, type Schedule } from './schedule.js'
import { Case } from './tally.js'

const WINDOWS_MS = [10, 25, 40]
/** Far longer than any key lives here: a sliding window counts for two windows, a bucket until its burst is back. */
const GONE_WITHIN_MS = 30_000

/** Keys `PREFIX/=ID` and `PREFIX/=+PAGE`: they remember the ids of charges and refunds, and are allowed to stay. */
const REMEMBERED = /\/=\+?[\w-]+$/

/** Plays all schedules, waits until their keys should be gone, and calls `onDone` with the result of each. */
export async function leavesNothing(
  redis: Redis,
  seeds: readonly number[],
  onDone: (done: Case) => void,
): Promise<void> {
  const prefix = testPrefix()
  const played: Case[] = []
  await forEachOf(seeds, async (seed) => void played.push(await playLive(redis, seed, `${prefix}:${seed}`)))
  const left = async (): Promise<string[]> => {
    const keys = await redis.keys(`${prefix}:*`)
    return keys.filter((key) => !REMEMBERED.test(key))
  }
  const flooded = new Set((await redis.keys(`${prefix}-flood:*`)).map((key) => seedIn(key)))
  for (const until = performance.now() + GONE_WITHIN_MS; performance.now() < until; await sleep(50)) {
    if ((await left()).length === 0) break
  }
  const kept = new Set((await left()).map((key) => seedIn(key)))
  for (const done of played) {
    done.check(8, !kept.has(done.seed), () => 'a key is left of what no longer counts')
    done.check(8, !flooded.has(done.seed), () => 'a denied request left a key')
    onDone(done)
  }
}

function seedIn(key: string): number {
  return Number(/^test:[0-9a-f]+(?:-flood)?:(\d+)/.exec(key)?.[1])
}

async function playLive(redis: Redis, seed: number, prefix: string): Promise<Case> {
  const kinds = ['log', 'coarse', 'window', 'fixed', 'bucket'] as const
  const schedule = scheduleOf(seed, { kinds, windowsMs: WINDOWS_MS, gaps: false, steps: 5 })
  const done = new Case(seed)
  const plans = plansInput(schedule.versions[0] as Plans)
  const limiter = limiterOn(redis, prefix, plans)
  const scope = limiter.scope({ group: 'g', stacked: { s: inputsOf(schedule.stacked) } })
  const made: Decision[] = []
  for (const { act } of schedule.steps) {
    if (act.what === 'burst') {
      const decide = ({ place, who, cost }: Ask): Promise<Decision> =>
        Promise.resolve(
          (place === 'app' ? limiter : scope).consume(subjectsOf(who, schedule.versions[0] as Plans), {
            cost,
          }),
        )
      const decisions = await Promise.all(act.asks.map(decide))
      done.decisions += decisions.length
      done.denials += decisions.filter(({ allowed }) => !allowed).length
      made.push(...decisions)
    } else if (act.what === 'refund') {
      const given = await Promise.all(made.slice(-2).map((decision) => limiter.refund(decision)))
      done.refunds += given.filter(Boolean).length
    } else if (act.what === 'settle')
      await limiter.settle(made.at(-1) ?? (await limiter.peek('nobody')), act.cost)
  }
  await flood(redis, schedule, prefix.replace(/:(\d+)$/, '-flood:$1'), done)
  return done
}

/** Sends requests that can never fit. Their windows are long, so that a key left by a denial would be found. */
async function flood(redis: Redis, schedule: Schedule, prefix: string, done: Case): Promise<void> {
  const specs = schedule.own.map((spec) => ({ ...spec, windowMs: spec.windowMs * 100_000 }))
  const limiter = limiterOn(redis, prefix, { flood: inputsOf(specs) })
  const cost = Math.max(...specs.map(capacityOf)) + 1
  const asked = schedule.subjects.map(({ id }) => limiter.consume(id, { cost }))
  const decisions = await Promise.all(asked)
  done.check(
    8,
    decisions.every(({ allowed }) => !allowed),
    () => 'more than a limit ever has was allowed',
  )
  done.denials += decisions.length
}

function limiterOn(redis: Redis, prefix: string, plans: ReturnType<typeof plansInput>): Limiter {
  const store = redisStore(redis, { prefix })
  // A fixed number of instances, so that no key counts them.
  return createLimiter({
    warnings: false,
    plans,
    store,
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    local: { instances: 1 },
  })
}
