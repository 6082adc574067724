import {
  ID_KEPT_MS,
  type CompiledLimit,
  type LimitSet,
  type RefundAnswer,
  type RefundPart,
  type RefundRequest,
} from '@tollgate/core/store'
import type { Run } from './batch.js'
import type { Command, Reply } from './clients/port.js'
import type { Counters } from './counters.js'
import { timeToLive, type Layout } from './layout.js'
import { valueOf, type Moment } from './load.js'

/** What an id stands for while its units are on their way back. */
const UNDER_WAY = '?'

interface Giving {
  readonly key: string
  readonly units: number
}

/**
 * Gives units back to the windows that they were taken from, never below 0. An id is remembered before its units go back: a
 * refund whose reply is lost half-way may not count, and never counts twice.
 */
export class GiveBacks {
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

  async refund({ parts, id }: RefundRequest): Promise<RefundAnswer> {
    const places = parts.flatMap((part) => this.#placesOf(part))
    const idKey = id === undefined ? undefined : this.#layout.id(id)
    const first: Command[] =
      idKey === undefined ? [] : [this.#remember('add', idKey, UNDER_WAY), { kind: 'read', key: idKey }]
    const replies = await this.#run([...first, ...places.map(({ key }): Command => ({ kind: 'read', key }))])
    if (idKey !== undefined && replies[0] === false) return replies[1] !== '0'
    const givings = places.flatMap((place, i) => whatIsThere(place, replies[first.length + i]))
    const commands = givings.map((giving): Command => ({ kind: 'give', ...giving }))
    if (idKey !== undefined) commands.push(this.#remember('set', idKey, givings.length > 0 ? '1' : '0'))
    if (commands.length > 0) await this.#run(commands)
    return givings.length > 0
  }

  /** Forgets what counts of the limits of some keys. Returns whether there was anything. */
  async reset(keys: readonly string[], sets: readonly LimitSet[]): Promise<boolean> {
    const places = keys.flatMap((key) => sets.flatMap((set) => this.#countersOf(key, set)))
    const all = [...new Set(places)].map((key): Giving => ({ key, units: Infinity }))
    if (all.length === 0) return false
    const replies = await this.#run(all.map(({ key }): Command => ({ kind: 'read', key })))
    // The counters stay, with nothing in them: other processes would take them for lost ones.
    const givings = all.flatMap((one, i) => whatIsThere(one, replies[i]))
    if (givings.length > 0) await this.#run(givings.map((giving): Command => ({ kind: 'give', ...giving })))
    return givings.length > 0
  }

  #placesOf({ key, set, receipts }: RefundPart): Giving[] {
    return set.limits.flatMap((_, i) => {
      const { at = 0, units = 0 } = receipts[i] ?? {}
      const place = this.#counters.at(key, set, i, this.#moment.nowUs).keyAt(at)
      return place === undefined || units <= 0 ? [] : [{ key: place, units }]
    })
  }

  #countersOf(key: string, set: LimitSet): string[] {
    return set.limits.flatMap((_: CompiledLimit, i) => {
      const counter = this.#counters.at(key, set, i, this.#moment.nowUs)
      counter.readPrevious(undefined, -Infinity)
      return counter.slides ? [counter.key, counter.previousKey] : [counter.key]
    })
  }

  #remember(kind: 'add' | 'set', key: string, text: string): Command {
    const { nowUs, spareS } = this.#moment
    return { kind, key, text, ttl: timeToLive(ID_KEPT_MS * 1000, nowUs / 1000, spareS) }
  }
}

/** The units that are still there to be given back. */
function whatIsThere({ key, units }: Giving, reply: Reply): Giving[] {
  const value = valueOf(reply)
  if (value instanceof Error) throw value
  const given = Math.min(units, value?.units ?? 0)
  return given > 0 ? [{ key, units: given }] : []
}
