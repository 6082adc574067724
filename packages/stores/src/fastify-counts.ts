import type { Decision } from '@tollgate/core'
import { Counter } from './counter.js'
import type { FastifyHits, Penalties } from './fastify-params.js'
import { hitOf, stateOf, UNREACHABLE, type Limited } from './hit.js'
import { quotaOf } from './limited.js'
import type { Backed } from './store-options.js'

export interface Asked {
  readonly key: string
  /** ms */
  readonly timeWindow: number
  readonly max: number
}

/** Counts the requests of one route with its own options, or of all other routes together. */
export class FastifyCounts {
  readonly #hits: Counter
  /** Counts refused requests, if that makes a difference. */
  readonly #refusals: Counter
  readonly #penalties: Penalties
  readonly #namespace: string

  /** @param namespace has no space */
  constructor(backed: Backed, penalties: Penalties, namespace: string) {
    const windowName = 'timeWindow'
    this.#hits = new Counter({ ...backed, windowName })
    this.#refusals = new Counter({ ...backed, algorithm: backed.forRefusals, windowName, group: 'refused' })
    this.#penalties = penalties
    this.#namespace = namespace
  }

  /** Counts a request, unless it is refused. */
  async take(asked: Asked): Promise<FastifyHits> {
    const { id, limited } = this.#read(asked)
    // A max of 0 lets no request pass. Tollgate has no such limit.
    if (limited.quota === 0) return this.#refuse(asked, asked.timeWindow)
    // Together, so that both have one deadline.
    const [decision, refused] = await Promise.all([
      this.#hits.take(id, limited),
      this.#penalties.renews ? this.#refusals.peek(id, this.#refusable(asked)) : undefined,
    ])
    const { allowed, used, resetMs, retryAfterMs } = hitOf(this.#hits.needAnswer(decision), limited)
    if (allowed && !isPending(refused)) return { current: used, ttl: Math.ceil(resetMs) }
    // The request's own window had room.
    if (allowed) void this.#hits.limiter.refund(decision)
    return this.#refuse(asked, retryAfterMs)
  }

  /** What `take` would find, but without this request. */
  async peek(asked: Asked): Promise<FastifyHits> {
    const { id, limited } = this.#read(asked)
    if (limited.quota === 0) return { current: 0, ttl: 0 }
    const refusable = this.#refusable(asked)
    const [decision, refused] = await Promise.all([
      this.#hits.peek(id, limited),
      this.#penalties.renews ? this.#refusals.peek(id, refusable, refusable.quota) : undefined,
    ])
    this.#hits.needAnswer(decision)
    const { quota, windowMs } = limited
    if (refused && isPending(refused)) {
      const left = refused.retryAfterMs ?? this.#refusals.countsForMs(limited)
      const ttl = Math.max(left, decision.retryAfterMs ?? 0)
      return { current: quota + (stateOf(refused)?.used ?? 1), ttl: Math.ceil(ttl) }
    }
    const state = stateOf(decision)
    const current = state ? quota - state.remaining : 0
    return {
      current,
      ttl: Math.ceil(decision.allowed ? (state?.resetMs ?? 0) : (decision.retryAfterMs ?? windowMs)),
    }
  }

  /** Whether refused requests are counted. */
  get #counts(): boolean {
    return this.#penalties.renews || this.#penalties.ban !== undefined
  }

  async #refuse(asked: Asked, waitMs: number): Promise<FastifyHits> {
    const { id, limited } = this.#read(asked)
    const first = { current: limited.quota + 1, ttl: Math.max(Math.ceil(waitMs), 1) }
    if (!this.#counts) return first
    const refusable = this.#refusable(asked)
    const decision = await this.#refusals.take(id, refusable)
    if (decision.reason === 'store-unavailable') return first
    const times = decision.allowed ? (stateOf(decision)?.used ?? 1) : refusable.quota
    const ttl = this.#penalties.renews ? Math.max(this.#refusals.countsForMs(limited), first.ttl) : first.ttl
    return { current: limited.quota + times, ttl }
  }

  /** For a ban it is enough to count to its number. If refused requests begin new windows, each one counts. */
  #refusable({ timeWindow }: Asked): Limited {
    const { ban = 0, renews } = this.#penalties
    return { quota: renews ? UNREACHABLE : ban + 1, windowMs: timeWindow }
  }

  #read({ key, timeWindow, max }: Asked): { readonly id: string; readonly limited: Limited } {
    return { id: `${this.#namespace} ${key}`, limited: { quota: quotaOf(max, 'max'), windowMs: timeWindow } }
  }
}

function isPending(refused: Decision | undefined): boolean {
  return refused !== undefined && (stateOf(refused)?.used ?? 0) > 0
}
