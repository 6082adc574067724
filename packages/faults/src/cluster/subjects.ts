// The subjects and limits of the run on a cluster. No units of the long windows come back during a run.
import type { PlanInput, ScopeOptions, Subject } from '@tollgate/core'
import type { Bound } from '../soak/plans.ts'

const ORGANISATIONS = 12
const USERS_EACH = 4
const SECOND_MS = 1000
export const DAY_MS = 86_400_000

/** The kinds of counters: an organisation, its stacked limit of a route, and a user of it. */
export type Kind = 'organisation' | 'export' | 'user'

/** Units a day. Busy subjects ask for more, idle ones for less. */
export const QUOTA: Readonly<Record<Kind, number>> = { organisation: 700, export: 200, user: 200 }

export const LIMITS: Readonly<Record<Kind, PlanInput>> = {
  organisation: ['40/s', `${QUOTA.organisation}/d`],
  export: `${QUOTA.export}/d`,
  user: ['20/s', `${QUOTA.user}/d`],
}

/**
 * The most units that each kind of counter may allow in any true window, while the store answers and has lost nothing.
 */
export const BOUNDS: Readonly<Record<Kind, readonly Bound[]>> = {
  organisation: [
    { windowMs: SECOND_MS, units: 40 },
    { windowMs: DAY_MS, units: QUOTA.organisation },
  ],
  export: [{ windowMs: DAY_MS, units: QUOTA.export }],
  user: [
    { windowMs: SECOND_MS, units: 20 },
    { windowMs: DAY_MS, units: QUOTA.user },
  ],
}

export const PLANS = { organisation: LIMITS.organisation, user: LIMITS.user }
export const EXPORT_ROUTE: ScopeOptions = { stacked: { export: LIMITS.export as string } }

export interface Counter {
  readonly kind: Kind
  readonly organisation: number
  /** For a user: its number in the organisation. */
  readonly user?: number
}

export const COUNTERS: readonly Counter[] = Array.from({ length: ORGANISATIONS }, (_, organisation) => [
  { kind: 'organisation' as const, organisation },
  { kind: 'export' as const, organisation },
  ...Array.from({ length: USERS_EACH }, (_user, user) => ({ kind: 'user' as const, organisation, user })),
]).flat()

export function subjectOf({ kind, organisation, user }: Counter): Subject {
  return kind === 'user'
    ? { id: `user-${organisation}-${user}`, plan: 'user' }
    : { id: `org-${organisation}`, plan: 'organisation' }
}

export function nameOf(counter: Counter): string {
  const { id } = subjectOf(counter)
  return counter.kind === 'export' ? `${String(id)} export` : String(id)
}

/** One request: a user of an organisation, and whether it goes to the route with the stacked limit. */
export interface Asked {
  readonly organisation: number
  readonly user: number
  readonly isExport: boolean
}

/** @param next returns numbers from 0 to just under 1; the first organisations get most requests */
export function drawRequest(next: () => number): Asked {
  return {
    organisation: Math.floor(next() ** 2 * ORGANISATIONS),
    user: Math.floor(next() * USERS_EACH),
    isExport: next() < 0.3,
  }
}

/** The names of all counters of a request. */
export function namesIn({ organisation, user, isExport }: Asked): string[] {
  const names = [nameOf({ kind: 'organisation', organisation }), nameOf({ kind: 'user', organisation, user })]
  return isExport ? [...names, nameOf({ kind: 'export', organisation })] : names
}
