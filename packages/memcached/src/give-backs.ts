import {
  EARLIEST,
  ID_KEPT_MS,
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

/** Units to give back to one counter after another, as far as they have any. */
interface Giving {
  readonly keys: readonly string[]
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
    const replies = await this.#run([...first, ...places.flatMap(reading)])
    if (idKey !== undefined && replies[0] === false) return replies[1] !== '0'
    const commands = givingsOf(places, replies.slice(first.length))
    const hasAny = commands.length > 0
    if (idKey !== undefined) commands.push(this.#remember('set', idKey, hasAny ? '1' : '0'))
    if (commands.length > 0) await this.#run(commands)
    return hasAny
  }

  /** Forgets what counts of the limits of some keys. Returns whether there was anything. */
  async reset(keys: readonly string[], sets: readonly LimitSet[]): Promise<boolean> {
    const counters = keys.flatMap((key) => sets.flatMap((set) => this.#countersOf(key, set)))
    const all = [...new Set(counters)].map((key): Giving => ({ keys: [key], units: Infinity }))
    if (all.length === 0) return false
    // The counters stay, with nothing in them: other processes would take them for lost ones.
    const commands = givingsOf(all, await this.#run(all.flatMap(reading)))
    if (commands.length > 0) await this.#run(commands)
    return commands.length > 0
  }

  /** What goes back to each counter. Limits that share one have the same units taken, so the fewest of them go back. */
  #placesOf({ key, set, receipts }: RefundPart): Giving[] {
    const places = new Map<string, Giving>()
    set.limits.forEach((limit, i) => {
      const { at = 0, units = 0 } = receipts[i] ?? {}
      const counter = this.#counters.at(key, limit, this.#moment.nowUs)
      const keys = at === EARLIEST ? counter.keys : [counter.keyAt(at)].filter((one) => one !== undefined)
      const known = places.get(counter.key)
      places.set(counter.key, { keys, units: Math.min(units, known?.units ?? units) })
    })
    return [...places.values()].filter(({ units }) => units > 0)
  }

  #countersOf(key: string, set: LimitSet): readonly string[] {
    return set.limits.flatMap((limit) => {
      const counter = this.#counters.at(key, limit, this.#moment.nowUs)
      counter.readPrevious(undefined, -Infinity)
      return counter.keys
    })
  }

  #remember(kind: 'add' | 'set', key: string, text: string): Command {
    const { nowUs, spareS } = this.#moment
    return { kind, key, text, ttl: timeToLive(ID_KEPT_MS * 1000, nowUs / 1000, spareS) }
  }
}

function reading({ keys }: Giving): Command[] {
  return keys.map((key) => ({ kind: 'read', key }))
}

/** The commands that give back what is still there. */
function givingsOf(places: readonly Giving[], replies: readonly Reply[]): Command[] {
  const commands: Command[] = []
  let next = 0
  for (const { keys, units } of places) {
    let left = units
    for (const key of keys) {
      const value = valueOf(replies[next++])
      if (value instanceof Error) throw value
      const given = Math.min(left, value?.units ?? 0)
      if (given > 0) commands.push({ kind: 'give', key, units: given })
      left -= Math.max(given, 0)
    }
  }
  return commands
}
