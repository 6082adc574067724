import {
  EARLIEST,
  ID_KEPT_MS,
  type CompiledLimit,
  type LimitSet,
  type RefundAnswer,
  type RefundPart,
  type RefundRequest,
} from '@tollgate/core/store'
import type { Run } from '../batch.js'
import { RESET } from './cell-value.js'
import { changeCounter, needNoError } from './change-counter.js'
import type { Command } from '../clients/port.js'
import { countsAfterUs } from './counted-window.js'
import type { Counter } from './counter.js'
import type { Counters } from './counters.js'
import { timeToLive, type Layout } from '../layout.js'
import type { Moment } from '../load.js'

/** What an id stands for while its units are on their way back. */
const UNDER_WAY = '?'

/** Units to give back to one counter after another, as far as they have any. */
interface Giving {
  readonly keys: readonly string[]
  readonly units: number
  readonly ttl: number
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
    if (idKey !== undefined) {
      const asking: Command[] = [this.#remember('add', idKey, UNDER_WAY), { kind: 'read', key: idKey }]
      const [isFirst, told] = await this.#run(asking)
      needNoError([isFirst])
      if (isFirst === false) return told !== '0'
    }
    let given = 0
    for (const place of places) given += await this.#give(place)
    if (idKey !== undefined) await this.#run([this.#remember('set', idKey, given > 0 ? '1' : '0')])
    return given > 0
  }

  /**
   * Forgets what counts of the limits of some keys. Returns whether there was anything. The counters stay, with nothing in
   * them: other processes would take them for lost ones, and put back what they know.
   */
  async reset(keys: readonly string[], sets: readonly LimitSet[]): Promise<boolean> {
    const counters = new Map<Counter, CompiledLimit>()
    for (const key of keys) {
      for (const { limits } of sets) {
        for (const limit of limits) counters.set(this.#counters.at(key, limit, this.#moment.nowUs), limit)
      }
    }
    let wasThere = false
    for (const [counter, limit] of counters) {
      wasThere = counter.forget() || wasThere
      for (const key of counter.keys) {
        await changeCounter(this.#run, { key, ttl: this.#ttlOf(counter, limit) }, (value) => {
          if (value?.units === 0) return undefined
          wasThere ||= (value?.units ?? 0) > 0
          return { draw: value?.draw ?? RESET, units: 0 }
        })
      }
    }
    return wasThere
  }

  /** Gives units back to one counter after another, as far as they have any. Returns how many. */
  async #give({ keys, units, ttl }: Giving): Promise<number> {
    let left = units
    for (const key of keys) {
      let given = 0
      await changeCounter(this.#run, { key, ttl }, (value) => {
        given = Math.min(left, Math.max(value?.units ?? 0, 0))
        return value && given > 0 ? { draw: value.draw, units: value.units - given } : undefined
      })
      left -= given
    }
    return units - left
  }

  /** What goes back to each counter. Limits that share one have the same units taken, so the fewest of them go back. */
  #placesOf({ key, set, receipts }: RefundPart): Giving[] {
    const places = new Map<Counter, Giving>()
    set.limits.forEach((limit, i) => {
      const { at = 0, units = 0 } = receipts[i] ?? {}
      const counter = this.#counters.at(key, limit, this.#moment.nowUs)
      const keys = at === EARLIEST ? counter.keys : [counter.keyAt(at)].filter((one) => one !== undefined)
      const fewest = Math.min(units, places.get(counter)?.units ?? units)
      places.set(counter, { keys, units: fewest, ttl: this.#ttlOf(counter, limit) })
    })
    return [...places.values()].filter(({ units }) => units > 0)
  }

  #ttlOf({ window }: Counter, limit: CompiledLimit): number {
    const { nowUs, wallMs, spareS } = this.#moment
    return timeToLive(window.endUs - nowUs + countsAfterUs(limit, window), wallMs, spareS)
  }

  #remember(kind: 'add' | 'set', key: string, text: string): Command {
    const { wallMs, spareS } = this.#moment
    return { kind, key, text, ttl: timeToLive(ID_KEPT_MS * 1000, wallMs, spareS) }
  }
}
