// Settings of all runs.

export const FRAMEWORKS = ['express', 'fastify', 'koa'] as const
export type Framework = (typeof FRAMEWORKS)[number]

export const POLICIES = ['local', 'open', 'closed'] as const
export type Policy = (typeof POLICIES)[number]

export const DEADLINE_MS = 100

export interface Tenant {
  /** A plan of the store: `stores/redis.ts` and `stores/memcached.ts` have them. */
  readonly plan: string
  /** Requests per second, whatever the answers are. */
  readonly rate: number
}

export const FLOODING = 'flooding'
/** Asks so much on a plan with leases that its process serves it from memory, until its plan is used up. Not every store has it. */
export const LEASED = 'leased'
/** Buys top-ups while it asks. Not every store has them. */
export const BUYING = 'buying'
/** Sends requests without a limit: their times show what the machine adds to an answer that is ready at once. */
export const CONTROL = 'control'
/** Sends requests that wait for a timer of one deadline: their times show what the machine adds to that. */
export const WAITING = 'waiting'
export const CONTROLS: readonly string[] = [CONTROL, WAITING]
export const TENANTS: Readonly<Record<string, Tenant>> = {
  acme: { plan: 'large', rate: 50 },
  globex: { plan: 'large', rate: 50 },
  initech: { plan: 'large', rate: 50 },
  [FLOODING]: { plan: 'small', rate: 200 },
  [LEASED]: { plan: 'leased', rate: 60 },
  [BUYING]: { plan: 'topped-up', rate: 30 },
}
export const GOOD = Object.keys(TENANTS).filter((name) => ![FLOODING, LEASED, BUYING].includes(name))
export const CONTROL_RATE = 40

/** Requests per second, by tenant. */
export type Rates = Readonly<Record<string, number>>
export const RATES: Rates = {
  ...Object.fromEntries(Object.entries(TENANTS).map(([who, { rate }]) => [who, rate])),
  ...Object.fromEntries(CONTROLS.map((who) => [who, CONTROL_RATE])),
}
/** For a slow machine with other work. The flooding tenant still asks for more than its plan, and the leased one leases. */
const LIGHT_RATES: Rates = {
  ...Object.fromEntries([...GOOD, BUYING, ...CONTROLS].map((who) => [who, 10])),
  [FLOODING]: 80,
  [LEASED]: 60,
}

export interface Pace {
  readonly warmMs: number
  readonly faultMs: number
  readonly afterMs: number
  /** Whether each phase also waits for its effect, such as answers without the store: a slow machine needs longer. */
  readonly waits: boolean
  readonly rates: Rates
  /** With this many requests pending, no more are sent: on a slow machine they would only wait for each other. */
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

/** The checks of a run. One that is off here causes no failure, except with `--strict`. */
export const CHECKS = {
  answered: true,
  'in time before the breaker opens': true,
  'at once while it is open': true,
  'the breaker opens': true,
  'who is let in': true,
  'no more than the plan': true,
  'leases are served': true,
  'bookings count once': true,
  'losses are reported': true,
  'the others go on': true,
  'back at all': true,
  'back in time': true,
  'no crash': true,
} satisfies Record<string, boolean>
export type Check = keyof typeof CHECKS
/** Without the checks that other work on the machine can break. That no answer takes seconds is still checked. */
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

/** How much later than its deadline an answer may come, in ms: for timers and for reading data. */
export const LATE_MS = 20
export const OPEN_P99_MS = 2
export const BACK_WITHIN_MS = 1000
