import {
  ID_KEPT_MS,
  type Answer,
  type ChargeRequest,
  type ChargedPart,
  type LimitOutcome,
  type StoreError,
  type Usage,
} from '@tollgate/core/store'
import type { LoadedLimit, Run } from '../batch.js'
import { encodeCell, MOST_UNITS, newDraw } from './cell-value.js'
import { needNoError } from './change-counter.js'
import type { Command } from '../clients/port.js'
import type { Counter } from './counter.js'
import type { Counters } from './counters.js'
import { countsAfterUs, remainingOf, resetOf } from './counted-window.js'
import { timeToLive, type Layout } from '../layout.js'
import { Load, type Moment } from '../load.js'

/** A limit, and the units used of it. */
interface Charged extends LoadedLimit {
  readonly used: readonly Usage[]
}

/**
 * Counts units that were used while the store could not answer, in the windows in which they were used, over the quota if need
 * be. The id is remembered in the same trip, behind the units: a charge whose reply is lost half-way may count twice,
 * never zero times.
 */
export class Charges {
  readonly #run: Run
  readonly #counters: Counters
  readonly #layout: Layout
  readonly #moment: Moment

  constructor(run: Run, counters: Counters, { layout, moment }: { layout: Layout; moment: Moment }) {
    this.#run = run
    this.#counters = counters
    this.#layout = layout
    this.#moment = moment
  }

  async charge(request: ChargeRequest): Promise<Answer> {
    const [{ key, set, used }] = request.parts as readonly [ChargedPart]
    const charged = set.limits.map((limit, i): Charged => {
      const load = new Load(this.#counters.at(key, limit, this.#moment.nowUs), limit, this.#moment)
      return { limit, params: limit.paramsAt(this.#moment.nowUs / 1000), load, used: used[i] ?? [] }
    })
    const loads = charged.map(({ load }) => load)
    const idKey = request.id === undefined ? undefined : this.#layout.id(request.id)
    const before = await this.#look(loads, idKey)
    const error = loads.find((load) => load.error)?.error as StoreError | undefined
    if (error) return error
    if (!before && !(await this.#putBack(loads))) return this.charge(request)
    const granted = before ?? charged.map(count)
    if (!before) {
      const commands = oncePerCounter(charged).flatMap((one) => this.#commands(one))
      if (idKey !== undefined) commands.push(this.#remember(idKey, granted))
      needNoError(await this.#run(commands))
    }
    return { at: this.#moment.nowUs, limits: charged.map((one, i) => stateOf(one, granted[i] ?? 0)) }
  }

  /**
   * Puts back what was lost, before the charge: that would make the counter anew without it. Returns false if another process
   * has made a counter anew meanwhile, which is to be read first.
   */
  async #putBack(loads: readonly Load[]): Promise<boolean> {
    const corrections = loads.flatMap((load) => load.corrections())
    if (corrections.length === 0) return true
    try {
      const replies = await this.#run(corrections)
      needNoError(replies)
      return !replies.includes(false)
    } catch (error) {
      for (const load of loads) load.correctionsFailed()
      throw error
    }
  }

  /** Reads the counters, and what an earlier charge with this id was granted. */
  async #look(loads: readonly Load[], idKey: string | undefined): Promise<number[] | undefined> {
    const commands = loads.flatMap((load) => load.commands())
    if (idKey !== undefined) commands.push({ kind: 'read', key: idKey })
    const replies = await this.#run(commands)
    let next = 0
    for (const load of loads) next += load.learn(replies, next)
    const told = idKey === undefined ? undefined : replies[next]
    return typeof told === 'string' ? told.split(',').map(Number) : undefined
  }

  #commands({ limit, load, used }: Charged): Command[] {
    const { counter, nowUs, startUs, endUs } = load
    const { wallMs, spareS } = this.#moment
    return used.flatMap(({ units, ageUs }): Command[] => {
      const key = counter.keyAt(nowUs - ageUs)
      if (key === undefined || units <= 0) return []
      const initial = encodeCell({ draw: newDraw(undefined), units })
      const keptUs = countsAfterUs(limit, { startUs, endUs }) + endUs - nowUs
      return [{ kind: 'take', key, units, initial, ttl: timeToLive(keptUs, wallMs, spareS) }]
    })
  }

  #remember(key: string, granted: readonly number[]): Command {
    const { wallMs, spareS } = this.#moment
    return {
      kind: 'set',
      key,
      text: granted.join(','),
      ttl: timeToLive(ID_KEPT_MS * 1000, wallMs, spareS),
    }
  }
}

/** Counts units in what was read. Returns how many are accounted for: all that a counter has room for. */
function count({ load, used }: Charged): number {
  let granted = 0
  for (const { units, ageUs } of used) {
    const key = load.counter.keyAt(load.nowUs - ageUs)
    const cell = key === load.key ? 'units' : 'previous'
    const fitting = key === undefined ? units : Math.max(Math.min(units, MOST_UNITS - load[cell]), 0)
    if (key !== undefined) load[cell] += fitting
    granted += fitting
  }
  return granted
}

/** Limits that share a counter were used by the same requests: the one with the most units is charged. */
function oncePerCounter(charged: readonly Charged[]): Charged[] {
  const ofCounter = new Map<Counter, Charged>()
  for (const one of charged) {
    const known = ofCounter.get(one.load.counter)
    if (!known || sum(one.used) > sum(known.used)) ofCounter.set(one.load.counter, one)
  }
  return [...ofCounter.values()]
}

function sum(used: readonly Usage[]): number {
  return used.reduce((total, { units }) => total + units, 0)
}

function stateOf({ limit, params, load }: Charged, granted: number): LimitOutcome {
  const [remaining, reset] = [remainingOf(limit, params, load), resetOf(limit, params, load)]
  return { wait: 0, remaining, reset, granted }
}
