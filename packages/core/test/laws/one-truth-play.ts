// A schedule of calls on a store, and its play.
import type { Usage } from '../../src/algorithms/implementation.js'
import type { LimitInput, LimitOptions } from '../../src/index.js'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import { refundByKey, refundOf } from '../../src/stores/receipts.js'
import type { Answer, DenialTally, Store, StoreRequest } from '../../src/stores/contract.js'
import type { Clock } from '../support/benches.js'
import { advance } from '../support/schedules.js'
import { blockingAfter, setOf, waiting } from '../support/store-requests.js'

/** What is asked of a key, with the index of its set. */
export interface Asked {
  readonly key: string
  readonly set: number
  readonly cost: number
  readonly tally?: DenialTally | undefined
  readonly countsDenial?: false | undefined
}

/** A request, with the indices of its sets. */
export interface Drawn extends Pick<StoreRequest, 'grant' | 'id' | 'order' | 'hold'> {
  readonly asked: readonly Asked[]
  /** With `force`: the units used, by limit. */
  readonly usages?: readonly Usage[][]
  /** Who holds how many slots, and how far behind the last number that the store told is the one that it knows. */
  readonly holder?: { readonly id: string; readonly held: number; readonly behind: number } | undefined
}

/** Requests of one call; units of earlier requests that go back, by how many ago; or keys that are forgotten. */
export type Act = { readonly gapUs: number } & (
  | { readonly batch: readonly Drawn[]; readonly isPeek: boolean }
  | {
      readonly backs: readonly number[]
      readonly units: number
      readonly isByKey: boolean
      readonly id: string | undefined
    }
  | { readonly reset: readonly string[] }
)

/** Behind so many come many others. */
export const OWN_SETS = 14

/** The denials of these sets block. The second counts requests in flight, too. */
export const BLOCKING_SETS = [7, 8] as const

/**
 * Limits of these sets deny nothing. They observe: the first one; what is watched beside the first; all, also requests in flight. Or
 * they count overage: one beside the others; all that can.
 */
export const LENIENT_SETS = [9, 10, 11, 12, 13] as const

function observing(limit: LimitInput | undefined): LimitInput {
  return { ...(limit as LimitOptions), mode: 'observe' }
}

function watching(limit: LimitInput | undefined): LimitInput {
  const options = limit as LimitOptions
  return { ...options, watch: Math.ceil(options.quota / 2) }
}

function exceedable(limit: LimitInput): LimitInput {
  const options = limit as LimitOptions
  const isFixed = options.algorithm === 'fixed-window' || options.timeZone !== undefined
  return isFixed ? { ...options, overage: true } : limit
}

/**
 * Sets that share some limits, have others with a larger quota, and count requests in flight from the fifth on. Many with windows
 * of their own follow.
 */
export function setsOf(
  limits: readonly LimitInput[],
  larger: readonly LimitInput[],
  { many, canWait }: { readonly many: readonly LimitSet[]; readonly canWait: boolean },
): LimitSet[] {
  const all = [
    setOf(...limits),
    setOf(...[...limits].reverse()),
    setOf(...larger),
    setOf(...limits.slice(0, 1), '9/7s'),
    setOf(...limits, '5 concurrent'),
    setOf('5 concurrent', ...limits),
    setOf('3 concurrent'),
    blockingAfter(setOf(...limits), {
      denials: 3,
      withinUs: 1_000_000,
      forUs: [200_000, 500_000, 4_000_000],
    }),
    blockingAfter(setOf(...limits, '5 concurrent'), {
      denials: 2,
      withinUs: 3_000_000,
      forUs: [300_000, 2_000_000],
    }),
    setOf(observing(limits[0]), ...limits.slice(1), '9/7s'),
    setOf(watching(limits[0]), ...limits.slice(1), '5 concurrent'),
    setOf(...limits.map(observing), { concurrent: 3, mode: 'observe' }),
    setOf({ quota: 3, window: '2s', overage: true }, ...limits),
    setOf({ quota: 2, window: 'month', overage: true }, ...limits.map(exceedable), '5 concurrent'),
    ...many,
  ]
  return canWait ? all.map((set, i) => (i === 1 || set.blockAfter ? set : waiting(set))) : all
}

/** A request and its answer. */
export interface Said {
  readonly request: StoreRequest
  readonly answer: Answer
}

export class StorePlay {
  readonly said: (Said | { readonly given: unknown })[] = []
  readonly #store: Store
  readonly #clock: Clock
  readonly #sets: readonly LimitSet[]
  readonly #taken: Said[] = []
  /** By key and holder: the last number of a slot that the store told. */
  readonly #numbers = new Map<string, number>()

  constructor(store: Store, clock: Clock, sets: readonly LimitSet[]) {
    this.#store = store
    this.#clock = clock
    this.#sets = sets
  }

  async run(acts: readonly Act[]): Promise<void> {
    for (const act of acts) {
      advance(this.#clock, act.gapUs)
      // Not what it answers: Redis keeps keys of a test's clock until their real time is over.
      if ('reset' in act) await this.#store.reset(act.reset, 0)
      else if ('backs' in act) await this.#refund(act)
      else await this.#ask(act.batch, act.isPeek)
    }
  }

  async #ask(batch: readonly Drawn[], isPeek: boolean): Promise<void> {
    // Equal requests of a limiter have the same holder object.
    const made = new Map([...new Set(batch)].map((drawn) => [drawn, this.#requestOf(drawn)]))
    const requests = batch
      .map((drawn) => made.get(drawn) as StoreRequest)
      .filter(({ grant }) => !isPeek || grant === 'all')
    if (requests.length === 0) return
    const answers = await this.#store[isPeek ? 'peek' : 'consume'](requests)
    for (const [i, request] of requests.entries()) {
      const answer = answers[i] as Answer
      this.said.push({ request, answer })
      if (isPeek) continue
      if (isTaken(request, answer)) this.#taken.push({ request, answer })
      this.#note(request, answer)
    }
  }

  async #refund({ backs, units, isByKey, id }: Extract<Act, { backs: unknown }>): Promise<void> {
    const all = backs.flatMap((back) => this.#taken.at(-1 - back) ?? [])
    const refunds = all.map(({ request, answer }, i) => {
      const own = id === undefined ? undefined : `r${id}${i}`
      if (isByKey || !('limits' in answer)) return refundByKey(request, units, own)
      const taken = answer.limits[0]?.granted ?? request.parts[0]?.cost ?? 0
      return refundOf(request, answer, Math.min(units, taken), own)
    })
    this.said.push({ given: await this.#store.refund([...refunds, ...refunds]) })
  }

  #requestOf({ asked, usages, holder, grant: wanted, id, ...rest }: Drawn): StoreRequest {
    const hasSlots = asked.some(({ set }) => this.#sets[set]?.inFlightIndex !== undefined)
    const isTelling = wanted === 'declare' || wanted === 'release'
    const grant = isTelling && !hasSlots ? 'all' : wanted
    const parts = asked.map(({ key, set: index, cost, tally, countsDenial }) => {
      const set = this.#sets[index] as LimitSet
      const used = set.limits.map((_, i) => usages?.[i] ?? [{ units: cost, ageUs: 1000 }])
      const known = Math.max((this.#numbers.get(`${key} ${holder?.id}`) ?? 0) - (holder?.behind ?? 0), 0)
      const slots = holder && { id: holder.id, held: holder.held, known }
      const takesSlots = slots && set.inFlightIndex !== undefined && (grant === 'all' || isTelling)
      const tells = tally && set.blockAfter && grant === 'all'
      const own = {
        ...(takesSlots && { slots }),
        ...(grant === 'force' && { used }),
        ...(tells && { tally }),
        ...(countsDenial === false && { countsDenial }),
      }
      return { key, set, cost, ...own }
    })
    const withId = grant === 'force' && id !== undefined && { id }
    return { ...rest, shard: 0, grant, parts, ...withId } as StoreRequest
  }

  #note({ parts }: StoreRequest, answer: Answer): void {
    if (!('limits' in answer)) return
    let next = 0
    for (const { key, set, slots } of parts) {
      const slot = set.inFlightIndex === undefined ? undefined : answer.limits[next + set.inFlightIndex]?.slot
      if (slots && slot !== undefined) this.#numbers.set(`${key} ${slots.id}`, slot)
      next += set.limits.length
    }
  }
}

/** Whether a request has taken units that can go back. */
function isTaken({ grant, hold }: StoreRequest, answer: Answer): boolean {
  if (!('limits' in answer) || hold) return false
  return grant === 'upTo' || (grant === 'all' && answer.limits.every(({ wait }) => wait === 0))
}
