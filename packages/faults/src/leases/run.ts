import { setTimeout as sleep } from 'node:timers/promises'
import { ask, startRedis } from '@tollgate/testing/redis'
import { idealOf } from './ideal.ts'
import { judge, longestWithout, type Verdict } from './judge.ts'
import type { LeasedPlan } from './plans.ts'
import { KIND, readRecord, type Seen } from './record.ts'
import { SILENT, TROUBLES, type Scene } from './troubles.ts'
import { startLeaseWorker, type LeaseWorker, type Told } from './worker-process.ts'

/** Requests a second of each process: 1 : 3 : 10 : 100. */
export const RATES: readonly number[] = [40, 120, 400, 4000]

export interface Case {
  readonly plan: LeasedPlan
  readonly trouble: string
  readonly seconds: number
  readonly isLeased: boolean
}

export interface Result extends Case, Verdict {
  readonly decisions: number
  readonly admitted: number
  /** Of the decisions, those from leases: 0 to 1. */
  readonly leased: number
  /** Of what the plan would let in if each request were decided at once: 0 to 1. */
  readonly handedOut: number
  /** Scripts that Redis ran since it started. */
  readonly commands: number
  /** In µs, for each process that asked all the time. */
  readonly without: readonly (number | undefined)[]
  /** Admitted, for each process. */
  readonly each: readonly number[]
}

export async function runCase(given: Case): Promise<Result> {
  const { plan, trouble, seconds, isLeased } = given
  const server = await startRedis()
  const input = isLeased ? plan.plan : { ...plan.plan, lease: false }
  const shared = { port: server.port, plan: input, deadlineMs: 250 }
  const workers = RATES.map((perSecond) => startLeaseWorker({ ...shared, perSecond }))
  let zero = 0n
  const now = (): number => Number(process.hrtime.bigint() - zero) / 1000
  const scene: Scene = { server, workers, plan, now }
  try {
    await Promise.all(workers.map(({ ready }) => ready))
    zero = process.hrtime.bigint()
    for (const worker of workers) worker.order({ do: 'begin', zero: String(zero) })
    await sleep(seconds * 500)
    const breaks = await (TROUBLES[trouble] as (typeof TROUBLES)[string])(scene)
    await sleep(Math.max(0, seconds * 1000 - now() / 1000))
    // Before the end: what is then given back belongs to no request.
    const commands = await commandsOf(scene.server.port)
    for (const worker of workers) worker.order({ do: 'end' })
    const ended = await Promise.all(workers.map((worker) => worker.ended))
    const verdict = judge(seenBy(ended), plan.bounds, breaks)
    const violations = [...verdict.violations, ...wrongIn(ended, trouble)]
    return { ...given, ...verdict, violations, commands, ...(await figuresOf(given, ended)) }
  } finally {
    for (const worker of workers) stop(worker)
    await scene.server.kill()
  }
}

type Ended = readonly { readonly told: Told; readonly how: number | string }[]

const seenBy = (ended: Ended): Seen[] => ended.flatMap(({ told }, i) => readRecord(told.numbers, i))

async function figuresOf(
  { plan, trouble, seconds }: Case,
  ended: Ended,
): Promise<Pick<Result, 'admitted' | 'decisions' | 'each' | 'handedOut' | 'leased' | 'without'>> {
  const seen = seenBy(ended)
  const decisions = ended.reduce((sum, { told }) => sum + told.decisions, 0)
  const each = ended.map((_, i) => seen.filter(({ by, kind }) => by === i && kind !== KIND.denied).length)
  const admitted = each.reduce((sum, count) => sum + count, 0)
  const ideal = await idealOf({ ...plan.plan, lease: false }, RATES, seconds)
  return {
    decisions,
    admitted,
    each,
    leased: ended.reduce((sum, { told }) => sum + told.leased, 0) / decisions,
    handedOut: admitted / ideal,
    without: longestWithout(seen, RATES.length).map((us, i) =>
      SILENT[trouble]?.includes(i) ? undefined : us,
    ),
  }
}

function wrongIn(ended: Ended, trouble: string): string[] {
  const thrown = ended.flatMap(({ told }) => told.thrown).filter((what) => what !== '')
  const died = trouble === 'a process is killed' ? ['SIGKILL'] : []
  const codes = ended.map(({ how }) => how).filter((how) => how !== 0 && !died.includes(String(how)))
  return [
    ...(thrown.length > 0 ? [`thrown: ${thrown.join('; ')}`] : []),
    ...(codes.length > 0 ? [`processes ended with ${codes.join(', ')}`] : []),
  ]
}

/** A command of a script is counted by Redis on its own as well, so only those that a client sends. */
async function commandsOf(port: number): Promise<number> {
  const info = String(await ask(port, 'INFO', 'commandstats'))
  const found = [...info.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm)]
  return found.reduce((sum, [, calls]) => sum + Number(calls), 0)
}

function stop({ pid }: LeaseWorker): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
