// What every run has in common.

export const FRAMEWORKS = ['express', 'fastify', 'koa'] as const
export type Framework = (typeof FRAMEWORKS)[number]

export const POLICIES = ['local', 'open', 'closed'] as const
export type Policy = (typeof POLICIES)[number]

/** Both versions of the client take their turns. */
export const CLIENT_OF: Readonly<Record<Framework, 'ioredis' | 'ioredis5'>> = {
  express: 'ioredis',
  fastify: 'ioredis5',
  koa: 'ioredis',
}

export const DEADLINE_MS = 100
/** Short, so that many whole windows lie before, in and after a fault. */
export const WINDOW_MS = 500

export interface Tenant {
  readonly plan: string
  /** Requests a second, whatever becomes of them. */
  readonly rate: number
}

/** Units a window by plan, of the large one more than a load that stalled a second catches up with. Exact logs, so that what is too many is too many by the law. */
export const QUOTA_OF: Readonly<Record<string, number>> = { large: 120, small: 25 }

export const FLOODING = 'flooding'
/** Asks for what is not limited: what the machine adds to an answer that is there at once. */
export const CONTROL = 'control'
/** Asks for what takes a deadline by a timer: what the machine adds to an answer that waits. */
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

export interface Pace {
  readonly warmMs: number
  readonly faultMs: number
  readonly afterMs: number
  /** Each part lasts longer, until what it is for has been seen: on a slow machine that takes longer than elsewhere. */
  readonly waits: boolean
}
export const FULL: Pace = { warmMs: 1500, faultMs: 5000, afterMs: 2500, waits: false }
export const SHORT: Pace = { warmMs: 300, faultMs: 700, afterMs: 600, waits: true }

/** Every rule that a run is judged by. One that is off fails nothing, unless the run is `--strict`. */
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
/** Without what a machine that others use can fail by itself. That no answer takes seconds is judged all the same. */
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

/** What a deadline may be late by: timers, and reading what has come. */
export const LATE_MS = 20
export const OPEN_P99_MS = 2
export const BACK_WITHIN_MS = 1000
