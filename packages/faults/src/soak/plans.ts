import type { PlanInput } from '@tollgate/core'

/** The most units in any true window of this length, as the documentation states for the algorithm. */
export interface Bound {
  readonly windowMs: number
  readonly units: number
}

export interface SoakPlan {
  readonly limits: PlanInput
  readonly bounds: readonly Bound[]
}

const second = 1000

/** The leased ones are first, since only their first tenants get enough requests for a lease. */
export const PLANS: Readonly<Record<string, SoakPlan>> = {
  leased: {
    limits: { limits: '1000/8s', lease: true },
    bounds: [{ windowMs: 8 * second, units: 1000 }],
  },
  leasedBucket: {
    limits: { limits: '100/s burst 200', lease: true },
    bounds: [{ windowMs: second, units: 300 }],
  },
  log: { limits: '20/s', bounds: [{ windowMs: second, units: 20 }] },
  slots: { limits: '300/2s', bounds: [{ windowMs: 2 * second, units: 300 }] },
  bucket: { limits: '10/s burst 20', bounds: [{ windowMs: second, units: 30 }] },
  fixed: {
    limits: { quota: 20, window: 's', algorithm: 'fixed-window' },
    bounds: [{ windowMs: second, units: 40 }],
  },
  counters: {
    limits: { quota: 20, window: 's', algorithm: 'sliding-window' },
    bounds: [{ windowMs: second, units: 39 }],
  },
  several: {
    limits: ['20/s', '60/5s'],
    bounds: [
      { windowMs: second, units: 20 },
      { windowMs: 5 * second, units: 60 },
    ],
  },
}

const EACH = 10
/** Tenants. Every plan has busy and idle ones: tenants are drawn so that the first get most requests. */
export const SOAK_TENANTS: readonly { readonly id: string; readonly plan: string }[] = Array.from(
  { length: EACH },
  (_, i) => Object.keys(PLANS).map((plan) => ({ id: `${plan}-${i}`, plan })),
).flat()

export const LONGEST_MS = Math.max(
  ...Object.values(PLANS).flatMap(({ bounds }) => bounds.map(({ windowMs }) => windowMs)),
)
