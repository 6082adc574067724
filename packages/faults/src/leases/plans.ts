// The plans of the runs with leases, all of them overloaded, and the most that each may let in.
import type { LimitOptions, PlanInput } from '@tollgate/core'

/** Units a second of every plan: less than the processes ask for together. */
const PER_SECOND = 2000

/** What one limit may let in: `units` in any true window, or a level that drains and never passes `burst`. */
export type Bound =
  | { readonly windowUs: number; readonly units: number }
  | { readonly burst: number; readonly unitsPerUs: number }

export interface LeasedPlan {
  readonly name: string
  readonly plan: Extract<PlanInput, { readonly limits: unknown }>
  readonly bounds: readonly Bound[]
}

/** Plans with a shorter window must say how long a lease may be. */
const LEASED_BY_DEFAULT_MS = 1600

type Algorithm = 'sliding-log' | 'sliding-window' | 'fixed-window' | 'token-bucket'

const ALGORITHMS: readonly Algorithm[] = ['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket']
/** Of three limits: a longer window has a smaller rate, so that each of them denies at times. */
const THREE = [
  { length: 0.5, rate: 1.2 },
  { length: 1, rate: 1 },
  { length: 2, rate: 0.9 },
] as const

/** @param windowMs the window of a plan's main limit */
export function leasedPlans(windowMs: number): LeasedPlan[] {
  const limit = (algorithm: Algorithm, { length, rate }: { length: number; rate: number }): LimitOptions => {
    const window = windowMs * length
    return {
      quota: Math.round((PER_SECOND * rate * window) / 1000),
      window,
      algorithm,
      name: `${algorithm} ${window}`,
    }
  }
  const one = ALGORITHMS.map((algorithm) => planOf(algorithm, [limit(algorithm, { length: 1, rate: 1 })]))
  const three = ALGORITHMS.map((algorithm) =>
    planOf(
      `three of ${algorithm}`,
      THREE.map((part) => limit(algorithm, part)),
    ),
  )
  const kinds: readonly Algorithm[] = ['token-bucket', 'sliding-window', 'sliding-log']
  const mixed = kinds.map((algorithm, i) => limit(algorithm, THREE[i] as (typeof THREE)[number]))
  return [...one, ...three, planOf('bucket, window and log', mixed)]
}

/** The same plan with a share of its units. */
export function scaled({ name, plan }: LeasedPlan, share: number): LeasedPlan {
  const limits = (plan.limits as readonly LimitOptions[]).map((limit) => ({
    ...limit,
    quota: limit.quota * share,
  }))
  return planOf(name, limits)
}

function planOf(name: string, limits: readonly LimitOptions[]): LeasedPlan {
  return { name, plan: { limits, lease: leaseOf(limits) }, bounds: limits.map(boundOf) }
}

/** Of short windows leases must be asked for: their units come back late by a part of the window. */
function leaseOf(limits: readonly LimitOptions[]): NonNullable<LimitOptions['lease']> {
  const shortest = Math.min(...limits.map(({ window }) => Number(window)))
  return shortest >= LEASED_BY_DEFAULT_MS ? true : { maxMs: Math.ceil(shortest / 32) }
}

/** As ARCHITECTURE.md states the worst case of each algorithm. */
function boundOf({ quota, window, algorithm }: LimitOptions): Bound {
  const windowUs = Number(window) * 1000
  if (algorithm === 'token-bucket') return { burst: quota, unitsPerUs: quota / windowUs }
  if (algorithm === 'sliding-log') return { windowUs, units: quota }
  return { windowUs, units: algorithm === 'fixed-window' ? 2 * quota : 2 * quota - 1 }
}
