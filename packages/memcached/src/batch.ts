import type {
  Answer,
  LimitOutcome,
  LimitSet,
  StoreError,
  StoreRequest,
  SubRequest,
} from '@tollgate/core/store'
import type { Command, Reply } from './clients/port.js'
import type { Counter } from './counter.js'
import type { Counters } from './counters.js'
import { remainingOf, resetOf, waitOf } from './counted-window.js'
import { Load, type Moment } from './load.js'

/** Sends commands of one shard together. */
export type Run = (commands: readonly Command[]) => Promise<readonly Reply[]>

/** A request while it is decided. */
interface Decided {
  readonly request: StoreRequest
  /** One for each limit. */
  readonly loads: readonly Load[]
  /** Whether its units are taken before it is decided. If not, it is only looked whether they would fit. */
  readonly takes: boolean
  answer: Answer | undefined
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
    const again = all.filter(({ answer }) => answer === undefined)
    const late = this.#correct()
    if (again.length > 0) await this.#again(again)
    await late
    return all.map(({ answer }) => answer as Answer)
  }

  /** Only looks. */
  async peek(requests: readonly StoreRequest[]): Promise<Answer[]> {
    const all = requests.map((request) => this.#prepare(request, false))
    await this.#ask()
    await this.#correct()
    return all.map(({ request, loads }) => errorIn(loads) ?? outcomeOf(loads, request, 0))
  }

  /** Takes the units of requests that were thought not to fit, and of which a look showed that they do. */
  async #again(some: readonly Decided[]): Promise<void> {
    const batch = new Batch(this.#run, this.#counters, this.#moment)
    const all = some.map(({ request }) => batch.#prepare(request, true, true))
    await batch.#ask()
    for (const [i, one] of all.entries()) {
      batch.#decide(one)
      ;(some[i] as Decided).answer = one.answer
    }
    await batch.#correct()
  }

  /** @param isSure take it, whatever is known */
  #prepare(request: StoreRequest, mayTake: boolean, isSure = false): Decided {
    const [{ key, set, cost }] = request.parts as readonly [SubRequest]
    const loads = set.limits.map((_, i) => this.#loadOf(key, set, i))
    const takes = mayTake && (isSure || loads.every((load) => this.#mayFit(load, request)))
    if (takes) for (const load of loads) load.asked += cost
    return { request, loads, takes, answer: undefined }
  }

  #loadOf(key: string, set: LimitSet, i: number): Load {
    const counter = this.#counters.at(key, set, i, this.#moment.nowUs)
    const known = this.#loads.get(counter)
    if (known) return known
    const load = new Load(counter, set.limits[i] as Load['limit'], this.#moment)
    this.#loads.set(counter, load)
    return load
  }

  /** Whether a cost fits by what this process knows. If not, to take it first would only disturb others. */
  #mayFit(load: Load, { grant, parts }: StoreRequest): boolean {
    if (!load.isKnown) return true
    const { limit, params, known } = load
    if (grant === 'upTo') return remainingOf(limit, params, known) > 0
    return waitOf(limit, params, known, parts[0]?.cost ?? 1) === 0
  }

  async #ask(): Promise<void> {
    const loads = [...this.#loads.values()]
    const replies = await this.#run(loads.flatMap((load) => load.commands()))
    let next = 0
    for (const load of loads) next += load.learn(replies, next)
  }

  #decide(one: Decided): void {
    const { request, loads, takes } = one
    const cost = request.parts[0]?.cost ?? 1
    const error = errorIn(loads)
    const fitting = error ? 0 : unitsThatFit(loads, request)
    if (!takes && fitting > 0) return
    const outcome = error ?? outcomeOf(loads, request, fitting)
    if (takes) for (const load of loads) load.excess += cost - fitting
    one.answer = outcome
  }

  /** Gives back what was taken in vain. Resolves when that is done: who was denied finds it done. */
  async #correct(): Promise<void> {
    const corrections = [...this.#loads.values()].flatMap((load) =>
      load.corrections().map((command) => ({ load, command })),
    )
    if (corrections.length === 0) return
    const replies = await this.#run(corrections.map(({ command }) => command))
    corrections.forEach(({ load, command }, i) => load.learnCorrection(command, replies[i]))
  }
}

/** The units that a request gets now: of `upTo` as many as fit, else its cost or 0. */
function unitsThatFit(loads: readonly Load[], { grant, parts }: StoreRequest): number {
  const cost = parts[0]?.cost ?? 1
  if (grant === 'upTo') {
    return Math.min(cost, ...loads.map((load) => remainingOf(load.limit, load.params, load)))
  }
  return loads.every((load) => waitOf(load.limit, load.params, load, cost) === 0) ? cost : 0
}

/** What is told of a request, whose units count from now on. */
function outcomeOf(loads: readonly Load[], { grant, parts }: StoreRequest, units: number): Answer {
  const cost = parts[0]?.cost ?? 1
  const limits = loads.map((load): LimitOutcome => {
    const { limit, params } = load
    const wait = waitOf(limit, params, load, cost)
    load.units += units
    const told = { wait, remaining: remainingOf(limit, params, load), reset: resetOf(limit, params, load) }
    return grant === 'upTo' ? { ...told, granted: units } : told
  })
  return { at: (loads[0] as Load).nowUs, limits }
}

function errorIn(loads: readonly Load[]): StoreError | undefined {
  return loads.find(({ error }) => error !== undefined)?.error as StoreError | undefined
}
