import { implementations } from '../../../algorithms/registry.js'
import type { CompiledLimit, LimitSet, Params } from '../../../plans/limit/limit-set.js'
import type { ScriptArg } from '../clients/index.js'
import type { Grant, SlotHolder, StoreRequest, SubRequest } from '../../contract.js'

/** The most keys of a run: the script reads them with one command, and Lua's stack bounds its arguments. */
const MOST_KEYS = 1000

/** The requests of a batch for one key with the same limits and cost, by their index in the batch. */
export interface Group {
  readonly key: string
  readonly indices: number[]
  /** The holder that reports its slots with these requests. */
  readonly slots: SlotHolder | undefined
  /** Its limits, as they begin on the subject's billing day. */
  readonly set: LimitSet
}

/** A group in a run. */
interface GroupInRun extends Group {
  readonly run: Run
}

/** Groups with the same limits and cost, but for billing days. No key is twice in a run. */
export interface Run {
  /** That of the first group. */
  readonly set: LimitSet
  /** 0: they only declare slots; -1: they only give some back. */
  readonly cost: number
  readonly groups: Group[]
}

/**
 * Gathers requests of one key each into runs. Requests for one key stay in order. Those for different keys need no
 * order: no decision depends on another key.
 */
export class Runs {
  readonly list: Run[] = []
  readonly #latest = new Map<string, GroupInRun>()

  /** @param index the request's index in the batch */
  add({ key, set, cost, slots }: SubRequest, index: number): void {
    const before = this.#latest.get(key)
    if (before && before.set === set && before.run.cost === cost && before.slots === slots) {
      before.indices.push(index)
      return
    }
    const run = this.#runAfter(before?.run, { set, cost, slots })
    const group = { key, run, indices: [index], slots, set }
    run.groups.push(group)
    this.#latest.set(key, group)
  }

  #runAfter(before: Run | undefined, { set, cost, slots }: Pick<SubRequest, 'set' | 'cost' | 'slots'>): Run {
    for (let i = this.list.length - 1; i >= 0; i -= 1) {
      const run = this.list[i] as Run
      if (run === before) break
      const isSame =
        kindOf(run.set) === kindOf(set) && run.cost === cost && run.groups[0]?.slots?.id === slots?.id
      if (isSame && run.groups.length < MOST_KEYS) return run
    }
    const run: Run = { set, cost, groups: [] }
    this.list.push(run)
    return run
  }
}

/** The same for limits that differ at most in the billing day. */
function kindOf(set: LimitSet): object {
  return set.billing?.of.limits ?? set
}

/** A batch that is nothing but one run without requests in flight: most batches are. */
export interface OnlyRun {
  readonly set: LimitSet
  readonly cost: number
  readonly keys: readonly string[]
  /** How often the first keys are asked. Those that follow are asked once. */
  readonly times: readonly number[]
  /** Of each key the requests, by their index in the batch; undefined if each request has a key of its own. */
  readonly answered: readonly (readonly number[])[] | undefined
  /** The limits of each key, if subjects have billing days. */
  readonly sets?: readonly LimitSet[] | undefined
}

export function onlyRunOf(batch: readonly StoreRequest[]): OnlyRun | undefined {
  const [first] = batch[0]?.parts ?? []
  if (!first || first.set.inFlightIndex !== undefined || first.set.isLenient) return undefined
  const { set, cost } = first
  if (batch.length === 1) return onlyRequest(batch[0] as StoreRequest, first)
  if (set.billing) return onlyBilledRun(batch, set, cost)
  const keys = new Set<string>()
  for (const request of batch) {
    const part = request.parts[0] as SubRequest
    if (part.set !== set || !isOfRun(request, cost)) return undefined
    keys.add(part.key)
  }
  if (keys.size > MOST_KEYS) return undefined
  const run = { set, cost, keys: [...keys], times: [], answered: undefined }
  return keys.size === batch.length ? run : withTimes(run, batch)
}

function onlyRequest(request: StoreRequest, { set, cost, key }: SubRequest): OnlyRun | undefined {
  if (!isOfRun(request, cost)) return undefined
  return { set, cost, keys: [key], times: [], answered: undefined, sets: set.billing && [set] }
}

/** The same where subjects have billing days of their own. */
function onlyBilledRun(batch: readonly StoreRequest[], set: LimitSet, cost: number): OnlyRun | undefined {
  const known = new Map<string, LimitSet>()
  const keys: string[] = []
  const sets: LimitSet[] = []
  const kind = kindOf(set)
  for (const request of batch) {
    const part = request.parts[0] as SubRequest
    if (kindOf(part.set) !== kind || !isOfRun(request, cost)) return undefined
    const before = known.get(part.key)
    // The day of a subject was moved within the batch.
    if (before && before !== part.set) return undefined
    if (before) continue
    known.set(part.key, part.set)
    keys.push(part.key)
    sets.push(part.set)
  }
  if (keys.length > MOST_KEYS) return undefined
  const run = { set, cost, keys, times: [], answered: undefined, sets }
  if (keys.length === batch.length) return run
  const ordered = withTimes(run, batch)
  return { ...ordered, sets: ordered.keys.map((key) => known.get(key) as LimitSet) }
}

function isOfRun({ parts, grant, hold }: StoreRequest, cost: number): boolean {
  const part = parts[0] as SubRequest
  return grant === 'all' && !hold && parts.length === 1 && part.cost === cost && isPlainPart(part)
}

/** Whether a part says nothing about denials, which runs have no room for. */
export function isPlainPart({ tally, countsDenial }: SubRequest): boolean {
  return tally === undefined && countsDenial === undefined
}

/** The keys that are asked several times come first. */
function withTimes({ set, cost, keys }: OnlyRun, batch: readonly StoreRequest[]): OnlyRun {
  const ofKeys = new Map<string, number[]>(keys.map((key) => [key, []]))
  batch.forEach(({ parts: [part] }, i) => ofKeys.get((part as SubRequest).key)?.push(i))
  const groups = [...ofKeys].sort(([, a], [, b]) => b.length - a.length)
  const answered = groups.map(([, own]) => own)
  const times = answered.filter(({ length }) => length > 1).map(({ length }) => length)
  return { set, cost, keys: groups.map(([key]) => key), times, answered }
}

/** A batch of one limit and requests in flight, of one holder: most batches of such plans are. */
export interface OnlySlotsRun {
  readonly set: LimitSet
  readonly cost: number
  readonly holder: string
  readonly asked: readonly Group[]
  readonly released: readonly Group[]
}

export function onlySlotsRunOf(batch: readonly StoreRequest[]): OnlySlotsRun | undefined {
  const [first] = batch[0]?.parts ?? []
  const { set, slots: holder } = first ?? {}
  if (
    !set ||
    !holder ||
    set.limits.length !== 2 ||
    set.inFlightIndex !== 1 ||
    set.blockAfter ||
    set.isLenient ||
    set.billing
  )
    return undefined
  let cost: number | undefined
  const groups = new Map<string, Group & { readonly grant: Grant }>()
  for (const [index, { parts, grant, hold }] of batch.entries()) {
    const [part] = parts
    const { slots } = part ?? {}
    const isKnownKind = grant === 'all' || grant === 'release'
    if (!isKnownKind || hold || !part || parts.length > 1 || part.set !== set || slots?.id !== holder.id)
      return undefined
    if (grant === 'all') {
      cost ??= part.cost
      if (cost !== part.cost) return undefined
    }
    const known = groups.get(part.key)
    if (!known) groups.set(part.key, { key: part.key, indices: [index], slots, set, grant })
    else if (known.slots === slots && known.grant === grant && grant === 'all') known.indices.push(index)
    else return undefined
  }
  if (groups.size > MOST_KEYS) return undefined
  const all = [...groups.values()]
  const of = (grant: Grant): Group[] => all.filter((group) => group.grant === grant)
  return { set, cost: cost ?? 1, holder: holder.id, asked: of('all'), released: of('release') }
}

/** The first limit of a set as arguments of a script for limits of one: the time to live of the set, the id, the parameters. */
export function encodeOne(set: LimitSet, nowMs: number, keptMs: number): readonly ScriptArg[] {
  const [{ algorithm, stateId, paramsAt }] = set.limits as readonly [CompiledLimit]
  const params = paramsAt(nowMs)
  const known = encodedOnes.get(set)
  if (known?.params === params && known.keptMs === keptMs) return known.args
  const values = implementations[algorithm].wire.map((name) => params[name] as number)
  // As texts, since a client would make them of the same numbers for each request.
  const args = [timeToLive(set, keptMs), stateId, ...values].map(String)
  encodedOnes.set(set, { args, params, keptMs })
  return args
}

/**
 * Every request in flight makes the row of its holder last as long again, and setting the time to live costs as much as the rest of
 * a write. With a second more, it is set once a second.
 *
 * @returns the time to live of the set's values in ms, as text
 */
export function timeToLive({ ttlMs, inFlightIndex }: LimitSet, keptMs: number): string {
  return String(ttlMs + keptMs + (inFlightIndex === undefined ? 0 : 1000))
}

const encodedOnes = new WeakMap<LimitSet, { args: readonly ScriptArg[]; params: Params; keptMs: number }>()
