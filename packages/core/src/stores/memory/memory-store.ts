import type { Receipt } from '../../algorithms/implementation.js'
import { ConfigError } from '../../base/errors.js'
import type { LimitSet } from '../../plans/limit-set.js'
import { LruMap } from '../../base/lru-map.js'
import { needOptions } from '../../base/option-checks.js'
import { fineClock } from '../../base/microsecond-clock.js'
import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type Ask,
  type LimitOutcome,
  type Outcome,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '../contract.js'
import { createEntry, load, othersOf, type Entry, type Loaded } from './subject-entry.js'

export interface MemoryStoreOptions {
  /**
   * How many subjects are remembered at most; beyond it the one that has been idle longest is forgotten. A
   * subject takes 0.3 to 3 kB. Default: 100 000.
   */
  readonly maxSubjects?: number
  /** Now, in ms since 1970, in place of the system's clock; for tests. Subjects are then remembered an hour longer. */
  readonly now?: () => number
}

/** A clock that went back by more has what is kept written anew, also by a denial: it would stand still until then. */
const CLOCK_WENT_BACK_US = 1_000_000

/** How many old subjects each request looks at, to see whether they can go. */
const SWEPT_PER_REQUEST = 2

/**
 * Counts in this process's memory: the store when none is given. Several processes each hold a tenant to the
 * whole plan. Nothing runs in the background: subjects that can be forgotten leave while others come.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  needOptions(options, ['maxSubjects', 'now'], 'memoryStore')
  const { maxSubjects = 100_000, now } = options
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1) {
    throw new ConfigError('maxSubjects', maxSubjects, 'a whole number from 1')
  }
  if (now !== undefined && typeof now !== 'function') {
    throw new ConfigError('now', now, 'a function that returns ms since 1970')
  }
  return new MemoryStore(maxSubjects, now)
}

class MemoryStore implements Store {
  readonly immediate = true
  readonly joins = true
  readonly #entries: LruMap<Entry>
  readonly #now: () => number
  readonly #keptUs: number
  #sweep: Iterator<[string, Entry]>

  constructor(maxSubjects: number, now: (() => number) | undefined) {
    this.#entries = new LruMap(maxSubjects)
    this.#sweep = this.#entries.entries()
    this.#now = now ?? fineClock()
    this.#keptUs = now ? KEPT_UNDER_TEST_CLOCK_MS * 1000 : 0
  }

  consume(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) => this.#decide(request, true))
  }

  peek(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) => this.#decide(request, false))
  }

  refund({ key, set, limits }: RefundRequest): boolean {
    const now = this.#clock()
    const entry = this.#entries.get(key)
    if (!entry || entry.expires <= now) return false
    const loaded = load(entry, set, now)
    if (!loaded.some(({ isKnown }) => isKnown)) return false
    if (loaded.some(({ kernel, state, params }) => kernel.isOther?.(state, params))) return false
    const given = loaded.map(({ kernel, state, params }, i) =>
      kernel.give(state, limits[i] as Receipt, params),
    )
    this.#write(entry, set, loaded, now)
    return given.includes(true)
  }

  reset(key: string): void {
    this.#entries.delete(key)
  }

  #clock(): number {
    return Math.round(this.#now() * 1000)
  }

  #decide(request: StoreRequest, take: boolean): Outcome {
    const now = this.#clock()
    this.#forgetIdle(now)
    const first = this.#look(request, now)
    const looks = request.also ? [first, ...request.also.map((ask) => this.#look(ask, now))] : [first]
    const taken = take && looks.every(({ waits }) => waits.every((wait) => wait === 0))
    for (const look of looks) {
      if (taken) this.#take(look, look.ask.cost, now)
      else if (take && isAhead(look.loaded, now)) this.#take(look, 0, now)
      else if (take && look.isKnown) this.#entries.use(look.ask.key, look.entry)
    }
    return { at: now, limits: looks.flatMap(outcomesOf) }
  }

  #look(ask: Ask, now: number): Look {
    const { key, set, cost } = ask
    const known = this.#entries.get(key)
    const isKnown = known !== undefined && known.expires > now
    const entry = isKnown ? known : createEntry(set, now)
    const loaded = load(entry, set, now)
    return {
      ask,
      entry,
      isKnown,
      loaded,
      waits: loaded.map(({ kernel, state, params }) => kernel.wait(state, cost, params)),
    }
  }

  #take({ ask: { key, set }, entry, loaded }: Look, cost: number, now: number): void {
    for (const { kernel, state, params } of loaded) kernel.take(state, cost, params)
    this.#write(entry, set, loaded, now)
    this.#entries.use(key, entry)
  }

  #write(entry: Entry, set: LimitSet, loaded: readonly Loaded[], now: number): void {
    if (entry.set !== set || entry.others.length > 0) {
      entry.others = othersOf(entry, set, now)
      entry.set = set
    }
    entry.states = loaded.map(({ state }) => state)
    entry.last = now
    entry.ends = now + set.ttlMs * 1000 + this.#keptUs
    entry.expires = Math.max(entry.ends, ...entry.others.map(({ ends }) => ends))
  }

  #forgetIdle(now: number): void {
    for (let i = 0; i < SWEPT_PER_REQUEST; i += 1) {
      const { done, value } = this.#sweep.next()
      if (done) {
        this.#sweep = this.#entries.entries()
        return
      }
      if (value[1].expires <= now) this.#entries.delete(value[0])
    }
  }
}

/** What was found of one key that was asked for. */
interface Look {
  readonly ask: Ask
  readonly entry: Entry
  readonly isKnown: boolean
  readonly loaded: readonly Loaded[]
  /** Of each limit, as LimitOutcome says. */
  readonly waits: readonly number[]
}

function isAhead(loaded: readonly Loaded[], now: number): boolean {
  return loaded.some(({ isKnown, last }) => isKnown && last > now + CLOCK_WENT_BACK_US)
}

function outcomesOf({ loaded, waits }: Look): LimitOutcome[] {
  return loaded.map(({ kernel, state, params }, i) => {
    const remaining = kernel.remaining(state, params)
    const reset = Math.max(kernel.wait(state, remaining + 1, params), 0)
    return { wait: waits[i] as number, remaining, reset }
  })
}
