// Subjects whose requests wait in line, and subjects whose requests reserve units: what they may use, and whether they did.
import type { PlanInput } from '@tollgate/core'
import { judge as judgeUnits, type Break } from '../leases/judge.ts'
import { KIND } from '../leases/record.ts'
import type { Disturbance } from './judge.ts'

/** Units that were used between two times, in µs. */
export interface Use {
  readonly meter: number
  readonly units: number
  readonly from: number
  readonly to: number
}

interface Meter {
  readonly id: string
  readonly plan: string
  readonly input: PlanInput
  readonly burst: number
  readonly perSecond: number
  /** How late a place may be used, in µs. */
  readonly slackUs: number
  /** For how long requests hold units that the store may lose, in µs. */
  readonly heldUs: number
}

export const METERS = [
  {
    ...{ id: 'line', plan: 'waits', burst: 20, perSecond: 100, slackUs: 100_000, heldUs: 1_000_000 },
    input: { limits: '100/s burst 20', wait: { maxDelay: '200ms', maxWaiting: 60 } },
  },
  {
    ...{ id: 'tokens', plan: 'reserves', burst: 500, perSecond: 500, slackUs: 0, heldUs: 2_100_000 },
    input: '500/s burst 500',
  },
] as const satisfies readonly Meter[]

export const METER_PLANS: Readonly<Record<string, PlanInput>> = Object.fromEntries(
  METERS.map(({ plan, input }) => [plan, input]),
)

/** @param losses of the store; units that were held then can be used beside the new counts */
export function judgeUses(uses: readonly Use[], losses: readonly Disturbance[]): string[] {
  return METERS.flatMap(({ id, burst, perSecond, slackUs, heldUs }, meter) => {
    const unitsPerUs = perSecond / 1e6
    const bound = { burst: burst + unitsPerUs * slackUs, unitsPerUs }
    const breaks = losses.map(({ from, to, more }): Break => {
      const beside = (unitsPerUs * heldUs) / burst
      return { from, to: to + heldUs, more: more * (1 + beside) }
    })
    const seen = uses
      .filter((use) => use.meter === meter)
      .flatMap(({ units, from, to }) =>
        Array.from({ length: units }, () => ({ kind: KIND.other, from, to, by: 0 })),
      )
    return judgeUnits(seen, [bound], breaks).violations.map((what) => `${id}: ${what}`)
  })
}
