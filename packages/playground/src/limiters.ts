// The three limiters that stand side by side. Each decides requests of one client, in order of time.
import {
  ConfigError,
  createLimiter,
  createLimitSet,
  memoryStore,
  toHttpResponse,
  type Decision,
  type HttpResponse,
  type LimitOptions,
} from '@tollgate/core/browser'
import type { LimitShape } from './traffic.ts'

export type Algorithm = NonNullable<LimitOptions['algorithm']>

/** The algorithms, and what each promises for any window of a limit's length. */
export const ALGORITHMS: Readonly<Record<Algorithm, string>> = {
  'sliding-log': 'exact: never more than the limit',
  'sliding-window': 'two counters: just under twice the limit at worst',
  'fixed-window': 'one counter: twice the limit at worst',
  'token-bucket': 'even rate and a burst: limit + burst at worst',
}

/** Decides a request at a time in ms. Times never go back. */
export type Admits = (atMs: number) => boolean

/** What a user typed as limits: one, or several in quotes and brackets, as in an options object. */
export function readLimits(text: string): string[] {
  const parts = text.replace(/^\s*\[|\]\s*$/g, '').split(',')
  return parts.map((part) => part.trim().replace(/^(['"`])(.*)\1$/, '$2')).filter((part) => part !== '')
}

/** The most limits of a scene: every request is counted against each of them, and links can hold any number. */
export const MOST_LIMITS = 20

/** Scenes begin here: midnight, so that windows of the clock begin with the scene. */
const BEGIN = Date.UTC(2030, 0, 1)
const CLIENT = 'client'

/** Tollgate itself, with a clock that follows the requests. */
export class Tollgate {
  readonly shapes: readonly LimitShape[]
  /** What counts the first limit: a burst or a month says by itself which algorithm it needs. */
  readonly countedBy: Algorithm
  #nowMs = BEGIN
  readonly #limiter

  /** @throws {ConfigError} when a limit is wrong */
  constructor(limits: readonly string[], algorithm: Algorithm) {
    // Of these, core says where they may stand in plans, which there are none of here.
    const none = limits.find((limit) => /^(?:unlimited|blocked|)$/i.test(limit.trim()))
    if (limits.length === 0 || none !== undefined) {
      const given = none ? `'${none}' counts nothing, so there is nothing to show here` : 'there is none'
      throw new ConfigError('limit', `${given}; type one such as 100/min`)
    }
    if (limits.length > MOST_LIMITS) {
      throw new ConfigError('limit', `a scene has at most ${MOST_LIMITS}, and this has ${limits.length}`)
    }
    const store = Object.assign(memoryStore({ now: () => this.#nowMs }), { defaultAlgorithm: algorithm })
    this.#limiter = createLimiter({ limit: limits, store, warnings: false })
    this.countedBy = meantBy(limits[0] ?? '') ?? algorithm
    this.shapes = this.#decisionOf('peek', 0).limits.map(({ quota, windowMs }) => ({ quota, windowMs }))
    if (this.shapes.some(({ windowMs }) => windowMs === 0)) {
      throw new ConfigError('limit', 'requests in flight have no window, so they are not shown here')
    }
  }

  readonly admits: Admits = (atMs) => this.#decisionOf('consume', atMs).allowed

  /** What a client gets that asks at this time. Takes a unit if there is one. */
  answer(atMs: number): HttpResponse {
    return toHttpResponse(this.#decisionOf('consume', atMs))
  }

  #decisionOf(call: 'consume' | 'peek', atMs: number): Decision {
    this.#nowMs = BEGIN + atMs
    // The memory store answers at once.
    return this.#limiter[call](CLIENT) as Decision
  }
}

/** The algorithm that a limit's own text asks for. */
function meantBy(limit: string): Algorithm | undefined {
  const name = createLimitSet(limit).limits[0]?.algorithm
  if (name === 'calendar-window') return 'fixed-window'
  return name === 'token-bucket' || name === 'fixed-window' ? name : undefined
}

/** Counters of windows that begin with the clock: every minute on the minute. */
export function fixedWindows(shapes: readonly LimitShape[]): Admits {
  const counters = shapes.map(() => ({ window: -1, used: 0 }))
  return (atMs) => {
    counters.forEach((counter, i) => {
      const window = Math.floor(atMs / (shapes[i] as LimitShape).windowMs)
      if (window !== counter.window) Object.assign(counter, { window, used: 0 })
    })
    const isAllowed = counters.every(({ used }, i) => used < (shapes[i] as LimitShape).quota)
    if (isAllowed) for (const counter of counters) counter.used += 1
    return isAllowed
  }
}

/**
 * The memory store of express-rate-limit: a window begins with a client's first request, and with the first after it has ended.
 * Several limits are several middlewares: a request that one denies does not reach the next.
 */
export function expressRateLimit(shapes: readonly LimitShape[]): Admits {
  const clients = shapes.map(() => ({ resetMs: -Infinity, hits: 0 }))
  return (atMs) =>
    clients.every((client, i) => {
      const { quota, windowMs } = shapes[i] as LimitShape
      if (client.resetMs <= atMs) Object.assign(client, { resetMs: atMs + windowMs, hits: 0 })
      client.hits += 1
      return client.hits <= quota
    })
}
