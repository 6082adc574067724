import { setTimeout as sleep } from 'node:timers/promises'
import { SOON_MS } from '@tollgate/testing/redis'
import { keysLeft } from '../keys-left.ts'
import { now } from '../load.ts'
import { BACK_WITHIN_MS, DEADLINE_MS, POLICIES, type Check, type Policy } from '../settings.ts'
import { disturb, openPlace, type Place } from './disturbances.ts'
import { Oracle } from './oracle.ts'
import { LONGEST_MS, PLANS, SOAK_TENANTS } from './plans.ts'
import { Random } from '@tollgate/testing/random'
import { startWorker, type Batch, type Worker } from './worker-process.ts'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly checks: Readonly<Record<Check, boolean>>
  readonly say: (text: string) => void
}

/** Without `open`, which allows all requests in an outage and so has no bound to check. */
const SOAKED: readonly Policy[] = POLICIES.filter((policy) => policy !== 'open')
const PROCESSES = 2
const PER_SECOND = 1500
/** Workers report a decision within this time, in ms. */
const TOLD_WITHIN_MS = 1500
const LATE_MS = 1000
const QUIET_MS = 4000
/** How long a key may outlive its window, in ms, including the time that Redis takes to remove it. */
const GONE_AFTER_MS = 1500

interface Seen {
  letIn: number
  slowestMs: number
  skipped: number
  thrown: string[]
  underWay: number[]
  rss: number[]
  bySource: Record<string, number>
  /** The number of decisions in the quiet time at the end, when the store must be back: those by the store, and all. */
  inQuiet: { store: number; all: number }
}

/** Runs limiters in two processes on one Redis with random faults. Resolves to the exit code. */
export async function soak(options: SoakOptions): Promise<number> {
  const { minutes, seed, say } = options
  say(`soak: ${minutes} minutes, seed ${seed}, ${PROCESSES} processes of ${PER_SECOND} requests a second`)
  const random = new Random(seed)
  const place = await openPlace(PROCESSES)
  const oracle = new Oracle((tenant) => PLANS[tenant.split('-')[0] ?? '']?.bounds ?? [])
  const seen = nothingSeen()
  let isQuiet = false
  const workers = place.proxies.map(({ port }, i) => {
    const own = {
      port,
      policy: policyOf(i),
      instances: PROCESSES,
      client: i % 2 === 0 ? 'ioredis' : 'ioredis5',
    } as const
    return startWorker({ ...own, seed: seed + i, perSecond: PER_SECOND }, (batch) =>
      take({ batch, worker: i, oracle, seen, isQuiet }),
    )
  })
  const judging = setInterval(() => oracle.judge(now() - TOLD_WITHIN_MS), 500)
  try {
    const onLoss = (from: number, to: number): void => oracle.lose(from, to)
    const until = now() + minutes * 60_000
    const faults = await disturb({ place, random, until, onLoss, say })
    // A wait in real time, since the share of answers in it is judged.
    await sleep(QUIET_MS - 2000)
    isQuiet = true
    await sleep(2000)
    const wrong = await conclude({ place, workers, oracle, seen, checks: options.checks })
    report({ faults, oracle, seen, wrong, say })
    return wrong.length === 0 ? 0 : 1
  } finally {
    clearInterval(judging)
    await place.close()
  }
}

const policyOf = (i: number): Policy => SOAKED[i % SOAKED.length] as Policy

interface Taken {
  readonly batch: Batch
  readonly worker: number
  readonly oracle: Oracle
  readonly seen: Seen
  readonly isQuiet: boolean
}

function take({ batch, worker, oracle, seen, isQuiet }: Taken): void {
  for (const [tenant, from, to, source] of batch.letIn) {
    seen.letIn += 1
    // Units on lease were taken from the store.
    const by = source === 'store' || source === 'lease' ? 'store' : `process ${worker} (${source})`
    oracle.add({ tenant: SOAK_TENANTS[tenant]?.id ?? '', by, from, to })
  }
  for (const [source, count] of Object.entries(batch.bySource)) {
    seen.bySource[source] = (seen.bySource[source] ?? 0) + count
    if (!isQuiet) continue
    seen.inQuiet.all += count
    // What it denied before is denied from memory.
    if (source === 'store' || source === 'lease' || source === 'cache') seen.inQuiet.store += count
  }
  seen.slowestMs = Math.max(seen.slowestMs, batch.slowestMs)
  seen.skipped += batch.skipped
  seen.thrown.push(...batch.thrown.slice(0, 10 - seen.thrown.length))
  seen.underWay[worker] = batch.underWay
  seen.rss[worker] = batch.rss
}

interface End {
  readonly place: Place
  readonly workers: readonly Worker[]
  readonly oracle: Oracle
  readonly seen: Seen
  readonly checks: Readonly<Record<Check, boolean>>
}

async function conclude({ place, workers, oracle, seen, checks }: End): Promise<string[]> {
  const codes = await Promise.all(workers.map((worker) => worker.stop()))
  // A wait in real time, since keys expire in real time.
  await sleep(LONGEST_MS + GONE_AFTER_MS)
  oracle.judge(Infinity)
  const keys = await keysLeft(place.port)
  const { store, all } = seen.inQuiet
  const unanswered = seen.underWay.reduce((sum, count) => sum + count, 0)
  const isTimed = checks['in time before the breaker opens']
  const slowestAllowed = isTimed ? DEADLINE_MS + LATE_MS : SOON_MS
  const rules: [isWrong: boolean, what: string][] = [
    [
      oracle.violated > 0,
      `${oracle.violated} windows over their bound:\n  ${oracle.violations.join('\n  ')}`,
    ],
    [oracle.judged === 0, 'nothing was let in'],
    [keys > 0, `${keys} keys left behind`],
    [unanswered > 0, `${unanswered} requests without an answer`],
    [seen.slowestMs > slowestAllowed, `an answer took ${seen.slowestMs.toFixed(0)} ms`],
    [seen.thrown.length > 0, `thrown: ${seen.thrown.join('; ')}`],
    [codes.some((code) => code !== 0), `processes ended with ${codes.join(', ')}`],
    [store === 0, 'the store did not decide again'],
    [!seen.bySource['lease'], 'nothing was served from a lease'],
    [
      checks['back in time'] && store < 0.9 * all,
      `${store} of ${all} answers are the store's when it is long back (${BACK_WITHIN_MS} ms are allowed)`,
    ],
  ]
  return rules.filter(([isWrong]) => isWrong).map(([, what]) => what)
}

interface Told {
  readonly faults: ReadonlyMap<string, number>
  readonly oracle: Oracle
  readonly seen: Seen
  readonly wrong: readonly string[]
  readonly say: (text: string) => void
}

function report({ faults, oracle, seen, wrong, say }: Told): void {
  const list = (counts: Iterable<readonly [string, number]>): string =>
    [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
  say('')
  say(`faults      ${list(faults)}`)
  say(`decided by  ${list(Object.entries(seen.bySource))}; ${seen.skipped} not asked`)
  say(`let in      ${seen.letIn}; ${oracle.judged} windows judged, ${oracle.mostHeld} units held at most`)
  say(`slowest     ${seen.slowestMs.toFixed(0)} ms`)
  say(`memory      ${seen.rss.map((bytes) => `${(bytes / 2 ** 20).toFixed(0)} MB`).join(', ')} at the end`)
  say(wrong.length === 0 ? 'no violations' : `WRONG:\n- ${wrong.join('\n- ')}`)
}

function nothingSeen(): Seen {
  return {
    letIn: 0,
    slowestMs: 0,
    skipped: 0,
    thrown: [],
    underWay: [],
    rss: [],
    bySource: {},
    inQuiet: { store: 0, all: 0 },
  }
}
