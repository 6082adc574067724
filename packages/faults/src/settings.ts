// Settings that all runs share.

export const FRAMEWORKS = ['express', 'fastify', 'koa'] as const
export type Framework = (typeof FRAMEWORKS)[number]

export const POLICIES = ['local', 'open', 'closed'] as const
export type Policy = (typeof POLICIES)[number]

/** The client of each framework, so that both versions of ioredis are tested. */
export const CLIENT_OF: Readonly<Record<Framework, 'ioredis' | 'ioredis5'>> = {
  express: 'ioredis',
  fastify: 'ioredis5',
  koa: 'ioredis',
}

export const DEADLINE_MS = 100
/** Short, so that many whole windows fit before, in and after a fault. */
export const WINDOW_MS = 500

export interface Tenant {
  readonly plan: string
  /** Requests a second, allowed or not. */
  readonly rate: number
}

/**
 * Units a window, by plan. `large` has room for a load that stalled for a second and then catches up. Both are counted
 * by `sliding-log`, which is exact: a single unit over the quota is a violation.
 */
export const QUOTA_OF: Readonly<Record<string, number>> = { large: 120, small: 25 }

export const FLOODING = 'flooding'
/** A client whose requests are not limited: measures how long the machine takes for an answer at once. */
export const CONTROL = 'control'
/** An unlimited client, answered after a timer of one deadline: measures how late timers are on this machine. */
export const WAITING = 'waiting'
export const CONTROLS: readonly string[] = [CONTROL, WAITING]
export const TENANTS: Readonly<Record<string, Tenant>> = {
  acme: { plan: 'large', rate: 50 },
  globex: { plan: 'large', rate: 50 },
  initech: { plan: 'large', rate: 50 },
  [FLOODING]: { plan: 'small', rate: 200 },
}
export const GOOD = Object.keys(TENANTS).filter((name) => name !== FLOODING)
export const CONTROL_RATE = 40

/** Requests a second, by tenant or control client. */
export type Rates = Readonly<Record<string, number>>
export const RATES: Rates = {
  ...Object.fromEntries(Object.entries(TENANTS).map(([who, { rate }]) => [who, rate])),
  ...Object.fromEntries(CONTROLS.map((who) => [who, CONTROL_RATE])),
}
/** Low rates for a slow machine with other work. The flooding tenant still asks for more than its plan. */
const LIGHT_RATES: Rates = {
  ...Object.fromEntries([...GOOD, ...CONTROLS].map((who) => [who, 10])),
  [FLOODING]: 80,
}

export interface Pace {
  readonly warmMs: number
  readonly faultMs: number
  readonly afterMs: number
  /** Whether each phase also waits for its effect, such as answers without the store: a slow machine needs longer. */
  readonly waits: boolean
  readonly rates: Rates
  /** With so many requests under way no more are sent: on a slow machine they would only wait in the load generator. */
  readonly mostUnderWay: number
}
export const FULL: Pace = {
  warmMs: 1500,
  faultMs: 5000,
  afterMs: 2500,
  waits: false,
  rates: RATES,
  mostUnderWay: Infinity,
}
export const SHORT: Pace = {
  warmMs: 300,
  faultMs: 700,
  afterMs: 600,
  waits: true,
  rates: LIGHT_RATES,
  mostUnderWay: 40,
}

/** The rules by which a run is judged. A rule set to false is checked only with `--strict`. */
export const CHECKS = {
  answered: true,
  'in time before the breaker opens': true,
  'at once while it is open': true,
  'the breaker opens': true,
  'who is let in': true,
  'no more than the plan': true,
  'back at all': true,
  'back in time': true,
  'no crash': true,
} satisfies Record<string, boolean>
export type Check = keyof typeof CHECKS
/** Without the rules that a busy machine alone can break. Requests without an answer for seconds still fail the run. */
export const UNTIMED_CHECKS: Readonly<Record<Check, boolean>> = {
  ...CHECKS,
  'in time before the breaker opens': false,
  'at once while it is open': false,
  'back in time': false,
}
export const EVERY_CHECK = Object.fromEntries(Object.keys(CHECKS).map((name) => [name, true])) as Record<
  Check,
  boolean
>

/** How late an answer may be after its deadline, in ms: timers fire late, and data must be read first. */
export const LATE_MS = 20
export const OPEN_P99_MS = 2
export const BACK_WITHIN_MS = 1000
