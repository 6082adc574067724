import {
  EARLIEST,
  implementations,
  type ChargeRequest,
  type ChargedPart,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '@tollgate/core/store'

/** Counters as a server without transactions has them: each call takes a moment, during which others are made. */
class Counters {
  readonly #kept = new Map<string, number>()

  async add(name: string, units: number): Promise<number> {
    await new Promise((done) => setImmediate(done))
    const count = Math.max((this.#kept.get(name) ?? 0) + units, 0)
    this.#kept.set(name, count)
    return count
  }

  /** Returns whether anything counted under this prefix. */
  forget(prefix: string): boolean {
    const names = [...this.#kept.keys()].filter((name) => name.startsWith(prefix))
    const used = names.some((name) => this.#kept.get(name) !== 0)
    for (const name of names) this.#kept.delete(name)
    return used
  }
}

/** One counter of a limit for each window, and which window is open now. */
interface Cell {
  readonly name: string
  readonly params: Readonly<Record<string, number>>
  readonly number: number
  readonly ageUs: number
}

interface CounterStoreOptions {
  /** A fault to be found: what is denied is not given back. */
  readonly keepsDenied?: boolean
  /** A fault to be found: decides by what it read before it took a ticket. */
  readonly readsFirst?: boolean
  readonly now?: () => number
}

/**
 * Fixed windows at multiples of their length, each limit by a counter of its own: it takes a ticket from each, looks whether
 * all of them fit, and gives them back if not. Meanwhile others find these units taken.
 */
export function counterStore({ keepsDenied, readsFirst, now = Date.now }: CounterStoreOptions = {}): Store {
  const counters = new Counters()
  const ids = new Map<string, readonly number[] | boolean>()
  const { create, load, wait, remaining } = implementations['fixed-window']

  function cellsOf(key: string, { limits }: LimitSet, at: number): Cell[] {
    return limits.map(({ stateId, paramsAt }, i) => {
      const nth = limits.slice(0, i).filter((limit) => limit.stateId === stateId).length
      const params = paramsAt(at / 1000)
      const windowUs = params.windowUs as number
      return {
        name: JSON.stringify([key, stateId, nth]),
        params,
        number: Math.floor(at / windowUs),
        ageUs: at % windowUs,
      }
    })
  }

  /** Where a limit stands with so many units used in its window. */
  function standing({ params, ageUs }: Cell, count: number, at: number, cost: number): LimitOutcome {
    const state = { ...create(), age: ageUs, count }
    load(state, at, at, params)
    const left = remaining(state, params)
    const reset = Math.max(wait(state, left + 1, params), 0)
    return { wait: wait(state, cost, params), remaining: left, reset }
  }

  const counter = ({ name, number }: Cell): string => `${name} ${number}`

  async function take(request: StoreRequest): Promise<Outcome> {
    const at = Math.floor(now() * 1000)
    const [{ key, set, cost }] = request.parts as [StoreRequest['parts'][number]]
    const cells = cellsOf(key, set, at)
    const early = await Promise.all(cells.map((cell) => counters.add(counter(cell), 0)))
    const counts = await Promise.all(cells.map((cell) => counters.add(counter(cell), cost)))
    const before = readsFirst ? early : counts.map((count) => count - cost)
    const found = cells.map((cell, i) => standing(cell, before[i] as number, at, cost))
    const fits = Math.min(cost, ...found.map((limit) => limit.remaining))
    const isPart = request.grant === 'upTo'
    const units = isPart ? fits : fits === cost ? cost : 0
    const back = keepsDenied && units === 0 ? 0 : units - cost
    if (back < 0) await Promise.all(cells.map((cell) => counters.add(counter(cell), back)))
    const limits = cells.map((cell, i) => ({
      ...standing(cell, (before[i] as number) + units, at, cost),
      wait: (found[i] as LimitOutcome).wait,
      ...(isPart && { granted: units }),
    }))
    return { at, limits }
  }

  async function charge({ parts, id }: ChargeRequest): Promise<Outcome> {
    const at = Math.floor(now() * 1000)
    const [{ key, set, used }] = parts as [ChargedPart]
    const cells = cellsOf(key, set, at)
    const known = id === undefined ? undefined : (ids.get(id) as readonly number[] | undefined)
    const granted = used.map((own) => own.reduce((sum, { units }) => sum + units, 0))
    if (id !== undefined && !known) ids.set(id, granted)
    const limits = cells.map(async (cell, i) => {
      const counting = (used[i] ?? []).filter(({ ageUs }) => ageUs <= cell.ageUs)
      const units = known ? 0 : counting.reduce((sum, own) => sum + own.units, 0)
      const count = await counters.add(counter(cell), units)
      return { ...standing(cell, count, at, 1), wait: 0, granted: (known ?? granted)[i] as number }
    })
    return { at, limits: await Promise.all(limits) }
  }

  async function look({ parts }: StoreRequest): Promise<Outcome> {
    const at = Math.floor(now() * 1000)
    const [{ key, set, cost }] = parts as [StoreRequest['parts'][number]]
    const cells = cellsOf(key, set, at)
    const counts = await Promise.all(cells.map((cell) => counters.add(counter(cell), 0)))
    return { at, limits: cells.map((cell, i) => standing(cell, counts[i] as number, at, cost)) }
  }

  async function give({ parts, id = '' }: RefundRequest): Promise<boolean> {
    if (ids.has(id)) return ids.get(id) as boolean
    const [{ key, set, receipts }] = parts as [RefundRequest['parts'][number]]
    const cells = cellsOf(key, set, Math.floor(now() * 1000))
    const given = cells.map(async (cell, i) => {
      const { units, at } = receipts[i] as (typeof receipts)[number]
      const name =
        at === EARLIEST ? counter(cell) : `${cell.name} ${Math.floor(at / (cell.params.windowUs as number))}`
      const before = await counters.add(name, 0)
      return (await counters.add(name, -units)) < before && name === counter(cell)
    })
    const answer = (await Promise.all(given)).includes(true)
    if (id) ids.set(id, answer)
    return answer
  }

  /** One after another, as the requests of a batch are for one key. */
  async function inOrder<T, U>(batch: readonly T[], decide: (request: T) => Promise<U>): Promise<U[]> {
    const answers: U[] = []
    for (const request of batch) answers.push(await decide(request))
    return answers
  }

  return {
    synchronous: false,
    algorithms: ['fixed-window'],
    consume: (batch) =>
      inOrder(batch, (request) => (request.grant === 'force' ? charge(request) : take(request))),
    peek: (batch) => inOrder(batch, look),
    refund: (batch) => inOrder(batch, give),
    reset: async (keys) =>
      keys.map((key) => counters.forget(JSON.stringify([key]).slice(0, -1))).includes(true),
  }
}
