import type { LimitSet } from '../../plans/limit-set.js'
import type { StoreRequest, SubRequest } from '../contract.js'

/** The most keys of a run: the script reads them with one command, and Lua's stack bounds its arguments. */
const MOST_KEYS = 1000

/** The requests of a batch for one key with the same limits and cost, by their place in the batch. */
export interface Group {
  readonly key: string
  readonly run: Run
  readonly members: number[]
}

/** Groups with the same limits and cost. No key is twice in a run. */
export interface Run {
  readonly set: LimitSet
  readonly cost: number
  readonly groups: Group[]
}

/**
 * Gathers requests of one key each into runs. Requests for one key stay in order. Those for different keys need no
 * order: no decision depends on another key.
 */
export class Runs {
  readonly list: Run[] = []
  readonly #latest = new Map<string, Group>()

  /** @param member the request's place in the batch */
  add({ key, set, cost }: SubRequest, member: number): void {
    const before = this.#latest.get(key)
    if (before && before.run.set === set && before.run.cost === cost) {
      before.members.push(member)
      return
    }
    const run = this.#runAfter(before?.run, set, cost)
    const group = { key, run, members: [member] }
    run.groups.push(group)
    this.#latest.set(key, group)
  }

  #runAfter(before: Run | undefined, set: LimitSet, cost: number): Run {
    for (let i = this.list.length - 1; i >= 0; i -= 1) {
      const run = this.list[i] as Run
      if (run === before) break
      if (run.set === set && run.cost === cost && run.groups.length < MOST_KEYS) return run
    }
    const run: Run = { set, cost, groups: [] }
    this.list.push(run)
    return run
  }
}

/** A batch that is nothing but one run, of one limit: most batches are. */
export interface OnlyRun {
  readonly set: LimitSet
  readonly cost: number
  readonly keys: readonly string[]
  /** How often the first keys are asked, as consume-run.lua reads it. */
  readonly times: string
  /** Of each key the requests, by their place in the batch; undefined if each request has a key of its own. */
  readonly answered: readonly (readonly number[])[] | undefined
}

export function onlyRunOf(batch: readonly StoreRequest[]): OnlyRun | undefined {
  const [first] = batch[0]?.parts ?? []
  if (first?.set.limits.length !== 1 || first.set.slots !== undefined) return undefined
  const { set, cost } = first
  const keys = new Set<string>()
  for (const { parts, grant, hold } of batch) {
    const part = parts[0] as SubRequest
    if (grant !== 'all' || hold || parts.length !== 1 || part.set !== set || part.cost !== cost)
      return undefined
    keys.add(part.key)
  }
  if (keys.size > MOST_KEYS) return undefined
  const run = { set, cost, keys: [...keys], times: '', answered: undefined }
  return keys.size === batch.length ? run : withTimes(run, batch)
}

/** The keys that are asked several times come first. */
function withTimes({ set, cost, keys }: OnlyRun, batch: readonly StoreRequest[]): OnlyRun {
  const members = new Map<string, number[]>(keys.map((key) => [key, []]))
  batch.forEach(({ parts: [part] }, i) => members.get((part as SubRequest).key)?.push(i))
  const groups = [...members].sort(([, a], [, b]) => b.length - a.length)
  const answered = groups.map(([, places]) => places)
  const times = answered.filter(({ length }) => length > 1).map(({ length }) => length)
  return { set, cost, keys: groups.map(([key]) => key), times: times.join(' '), answered }
}
