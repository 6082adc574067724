import type {
  Answer,
  CompiledLimit,
  LimitOutcome,
  Params,
  StoreError,
  StoreRequest,
  SubRequest,
} from '@tollgate/core/store'
import type { CellValue } from './counting/cell-value.js'
import { changeCounter } from './counting/change-counter.js'
import type { Command, Reply } from './clients/port.js'
import type { Counter } from './counting/counter.js'
import type { Counters } from './counting/counters.js'
import { remainingOf, resetOf, waitOf } from './counting/counted-window.js'
import { storeErrorOf } from './errors.js'
import { Load, type Moment } from './load.js'

/** Sends commands of one shard together. */
export type Run = (commands: readonly Command[]) => Promise<readonly Reply[]>

/** A limit with the counter of a subject. */
export interface LoadedLimit {
  readonly limit: CompiledLimit
  readonly params: Params
  readonly load: Load
}

/** A request while it is decided. */
interface Decided {
  readonly request: StoreRequest
  readonly limits: readonly LoadedLimit[]
  /** Their counters, each once. */
  readonly loads: readonly Load[]
  /** Units to take from each counter. */
  readonly asks: number
  /** Whether its units are taken before it is decided. If not, it is only checked whether they would fit. */
  readonly takes: boolean
  answer: Answer | undefined
  /** Whether its units were taken, did not fit and went back. */
  isTakenBack?: boolean
}

/**
 * Decides the requests of one batch: takes the units of all of them at once, decides each by the values that came back, and
 * gives back what did not fit. One trip; two for those that are denied although they seemed to fit.
 */
export class Batch {
  readonly #run: Run
  readonly #moment: Moment
  readonly #counters: Counters
  #loads = new Map<Counter, Load>()

  constructor(run: Run, counters: Counters, moment: Moment) {
    this.#run = run
    this.#counters = counters
    this.#moment = moment
  }

  async consume(requests: readonly StoreRequest[]): Promise<Answer[]> {
    const all = requests.map((request) => this.#prepare(request, true))
    await this.#ask()
    for (const one of all) this.#decide(one)
    const looked = all.filter(({ answer }) => answer === undefined)
    const late = this.#correct()
    if (looked.length > 0) await this.#again(looked)
    await late
    // Others may have been denied at the same moment, and have given back: then there is room after all.
    const raced = all.filter((one) => one.isTakenBack && unitsThatFit(one.limits, one.request) > 0)
    if (raced.length > 0) await this.#again(raced)
    return all.map(({ answer }) => answer as Answer)
  }

  /** Only looks. */
  async peek(requests: readonly StoreRequest[]): Promise<Answer[]> {
    const all = requests.map((request) => this.#prepare(request, false))
    await this.#ask()
    await this.#correct()
    return all.map((one) => errorIn(one.loads) ?? outcomeOf(one, 0))
  }

  /** Takes the units of requests that were thought not to fit, and of which a look showed that they do. */
  async #again(some: readonly Decided[]): Promise<void> {
    const batch = new Batch(this.#run, this.#counters, this.#moment)
    const all = some.map(({ request }) => batch.#prepare(request, true, true))
    try {
      await batch.#ask()
    } catch (error) {
      // Only these have no answer: what was decided in the first trip stands, and a denial stays one.
      for (const one of some) one.answer ??= storeErrorOf(error)
      return
    }
    for (const [i, one] of all.entries()) {
      batch.#decide(one)
      ;(some[i] as Decided).answer = one.answer
    }
    await batch.#correct()
    // A batch asks a counter for one quota at most. What is above that comes in another trip.
    const left = some.filter(({ answer }) => answer === undefined)
    if (left.length > 0) await this.#again(left)
  }

  /** @param isSure take it, whatever is known, unless this batch asks for the whole quota already */
  #prepare(request: StoreRequest, mayTake: boolean, isSure = false): Decided {
    const [{ key, set }] = request.parts as readonly [SubRequest]
    const { nowUs } = this.#moment
    const limits = set.limits.map((limit): LoadedLimit => {
      return { limit, params: limit.paramsAt(nowUs / 1000), load: this.#loadOf(key, limit) }
    })
    const loads = distinct(limits)
    const asks = unitsToAsk(request, limits)
    const takes =
      mayTake && limits.every((limit) => (isSure ? isBounded(limit, asks) : mayFit(limit, request)))
    if (takes) for (const load of loads) load.asked += asks
    return { request, limits, loads, asks, takes, answer: undefined }
  }

  #loadOf(key: string, limit: CompiledLimit): Load {
    const counter = this.#counters.at(key, limit, this.#moment.nowUs)
    const known = this.#loads.get(counter)
    if (known) return known
    const load = new Load(counter, limit, this.#moment)
    this.#loads.set(counter, load)
    return load
  }

  async #ask(): Promise<void> {
    const loads = [...this.#loads.values()]
    const replies = await this.#run(loads.flatMap((load) => load.commands()))
    let next = 0
    for (const load of loads) next += load.learn(replies, next)
  }

  #decide(one: Decided): void {
    const { request, limits, loads, asks, takes } = one
    const error = errorIn(loads)
    const fitting = error ? 0 : unitsThatFit(limits, request)
    if (!takes && fitting > 0) return
    const outcome = error ?? outcomeOf(one, fitting)
    if (takes) for (const load of loads) load.excess += asks - fitting
    one.isTakenBack = takes && !error && fitting === 0
    one.answer = outcome
  }

  /**
   * Gives back what was taken in vain. Resolves when that is done: who was denied finds it done. What was decided stands, also
   * if the server is gone by now: what did not fit then counts until its window ends.
   */
  async #correct(): Promise<void> {
    const loads = [...this.#loads.values()]
    const corrections = loads.flatMap((load) => load.corrections().map((command) => ({ load, command })))
    try {
      const replies = corrections.length > 0 ? await this.#run(corrections.map(({ command }) => command)) : []
      corrections.forEach(({ load, command }, i) => load.learnCorrection(command, replies[i]))
      for (const load of loads) {
        if (load.isBelowZero) await changeCounter(this.#run, load.place, (value) => raised(value, load))
      }
    } catch {
      for (const load of loads) load.correctionsFailed()
    }
  }
}

/** A counter that is less than nothing, as it should be. */
function raised(value: CellValue | undefined, { asked }: Load): CellValue | undefined {
  return value && value.units < 0 ? { draw: value.draw, units: asked } : undefined
}

/** The units that a request gets now: of `upTo` as many as fit, else its cost or 0. */
function unitsThatFit(limits: readonly LoadedLimit[], { grant, parts }: StoreRequest): number {
  const cost = parts[0]?.cost ?? 1
  if (grant === 'upTo') {
    return Math.min(cost, ...limits.map(({ limit, params, load }) => remainingOf(limit, params, load)))
  }
  return limits.every(({ limit, params, load }) => waitOf(limit, params, load, cost) === 0) ? cost : 0
}

/** A counter is never asked for more than a quota by one batch: it could not hold what many processes ask. */
function isBounded({ params, load }: LoadedLimit, asks: number): boolean {
  return load.asked === 0 || load.asked + asks <= (params['quota'] ?? 0)
}

/** The cost; of `upTo` at most what the quota allows. */
function unitsToAsk({ grant, parts }: StoreRequest, limits: readonly LoadedLimit[]): number {
  const cost = parts[0]?.cost ?? 1
  return grant === 'upTo' ? Math.min(cost, ...limits.map(({ params }) => params['quota'] ?? 0)) : cost
}

/** Whether a cost fits by what this process knows, and beside what it asks already. If not, to take it would only disturb others. */
function mayFit({ limit, params, load }: LoadedLimit, { grant, parts }: StoreRequest): boolean {
  if (grant === 'upTo') return remainingOf(limit, params, load.known) > 0
  return waitOf(limit, params, load.known, parts[0]?.cost ?? 1) === 0
}

function distinct(limits: readonly LoadedLimit[]): readonly Load[] {
  const [first] = limits
  return first && limits.length === 1 ? [first.load] : [...new Set(limits.map(({ load }) => load))]
}

/** The answer to a request, whose units count from now on. */
function outcomeOf({ request, limits, loads }: Decided, units: number): Answer {
  const { grant, parts } = request
  const cost = parts[0]?.cost ?? 1
  const waits = limits.map(({ limit, params, load }) => waitOf(limit, params, load, cost))
  for (const load of loads) load.units += units
  const told = limits.map(({ limit, params, load }, i): LimitOutcome => {
    const wait = waits[i] as number
    const after = { wait, remaining: remainingOf(limit, params, load), reset: resetOf(limit, params, load) }
    return grant === 'upTo' ? { ...after, granted: units } : after
  })
  return { at: (loads[0] as Load).nowUs, limits: told }
}

function errorIn(loads: readonly Load[]): StoreError | undefined {
  return loads.find(({ error }) => error !== undefined)?.error as StoreError | undefined
}
