import { implementations } from '../../../algorithms/registry.js'
import { UNIT_MS } from '../../../base/duration.js'
import { keptId, type CompiledLimit, type LimitSet, type Params } from '../../../plans/limit/limit-set.js'
import type { Usage } from '../../../algorithms/implementation.js'
import type {
  AccountEntry,
  Grant,
  Hold,
  LeaseOrder,
  RefundRequest,
  StoreRequest,
  SubRequest,
} from '../../contract.js'
import type { ScriptArg } from '../clients/index.js'
import { endOfId, type Layout } from '../layout.js'
import { encodeOne, isPlainPart, timeToLive, Runs, type OnlySlotsRun, type Run } from './runs.js'

/** What stands for the cost of requests that only report slots. */
const COST_OF: Partial<Record<Grant, number>> = { declare: 0, release: -1 }

/** Keys and arguments of a script. */
export interface Encoded {
  readonly keys: string[]
  readonly args: ScriptArg[]
}

/** Requests as consume.lua reads them, and where their answers are. */
export interface EncodedRequests extends Encoded {
  /** The indices in the batch of the requests that the script answers one after another, in the order of its reply. */
  readonly answered: (readonly number[])[]
}

/**
 * Requests as consume.lua reads them. Those of one key are sent in runs. A request of another kind is decided after all
 * that come before it.
 */
export function encodeRequests(
  batch: readonly StoreRequest[],
  sets: LimitSets,
  layout: Layout,
): EncodedRequests {
  const encoded: EncodedRequests = { keys: [], args: [], answered: [] }
  let runs: Runs | undefined
  const shard = batch[0]?.shard ?? 0
  const close = (): void => {
    for (const run of runs?.list ?? []) {
      for (const { key } of run.groups) encoded.keys.push(layout.nameOf(key, shard))
      encodeRun(encoded, run, sets)
    }
    runs = undefined
  }
  batch.forEach((request, i) => {
    const { parts, grant, id, hold } = request
    const cost = COST_OF[grant]
    const isPlain = grant === 'all' && !hold && isPlainPart(parts[0] as SubRequest)
    if (parts.length === 1 && (isPlain || cost !== undefined)) {
      runs ??= new Runs()
      const [part] = parts as readonly [SubRequest]
      runs.add(cost === undefined ? part : { ...part, cost }, i)
      return
    }
    close()
    for (const { key } of parts) encoded.keys.push(layout.nameOf(key, shard))
    encoded.args.push(...encodeTogether(request, sets))
    encoded.answered.push([i])
    if (grant === 'force' && id !== undefined) encoded.keys.push(layout.nameOfId(id, shard))
  })
  close()
  return encoded
}

function encodeRun(encoded: EncodedRequests, run: Run, sets: LimitSets): void {
  const set = sets.indexOf(run.set)
  const days = run.set.billing ? [sets.billingDays(run.groups.map((group) => group.set))] : []
  if (run.set.inFlightIndex !== undefined) return encodeSlotsRun(encoded, run, set, days)
  const { args, answered } = encoded
  const { cost, groups } = run
  const repeated: number[] = []
  groups.forEach(({ indices }, i) => {
    answered.push(indices)
    if (indices.length > 1) repeated.push(i + 1, indices.length)
  })
  args.push(set, cost, groups.length, repeated.length / 2, ...repeated, ...days)
}

function encodeSlotsRun(
  { args, answered }: EncodedRequests,
  { cost, groups }: Run,
  set: number,
  days: readonly string[],
): void {
  const numbers: number[] = []
  for (const { slots, indices } of groups) {
    answered.push(indices)
    numbers.push(slots?.held ?? 0, slots?.known ?? 0, indices.length)
  }
  args.push(-1, set, cost, groups.length, groups[0]?.slots?.id ?? '', JSON.stringify(numbers), ...days)
}

function encodeTogether(request: StoreRequest, sets: LimitSets): ScriptArg[] {
  const { parts, grant, hold } = request
  const kind = hold ? 'hold' : request.id === undefined ? grant : 'once'
  const args: ScriptArg[] = [0, parts.length, kind]
  if (request.grant === 'force') {
    for (const { set, used } of request.parts)
      args.push(sets.indexOf(set), JSON.stringify(used.map(encodeUsage)))
  } else for (const { set, cost } of parts) args.push(sets.indexOf(set), cost)
  if (request.grant === 'lease') return [...args, ...encodeOrder(request.order, parts[0]?.set.ttlMs ?? 0)]
  for (const { set, slots } of parts) {
    if (set.inFlightIndex !== undefined) args.push(slots?.id ?? '', slots?.held ?? 0, slots?.known ?? 0)
  }
  for (const { set, tally, countsDenial = true } of grant === 'all' ? parts : []) {
    if (!set.blockAfter) continue
    args.push(countsDenial ? 1 : 0, tally?.by ?? '', tally?.number ?? 0, tally?.total ?? 0, tally?.ageUs ?? 0)
  }
  if (request.grant === 'account') args.push(...encodeEntry(request.entry))
  return hold ? [...args, ...encodeHold(hold, parts)] : args
}

const KINDS: readonly AccountEntry['kind'][] = ['topUp', 'renewal', 'penalty', 'usage']

function encodeEntry({ id, says, kind, limit, units, end }: AccountEntry): ScriptArg[] {
  const [time, length] = 'at' in end ? [end.at, 0] : [0, end.inUs]
  return [id, says, KINDS.indexOf(kind) + 1, limit + 1, units, time, length]
}

function encodeHold(
  { kind, id, lengthUs, slackUs, most }: Hold,
  parts: readonly SubRequest[],
): readonly ScriptArg[] {
  const ofParts = parts.flatMap(({ set }) => [set.wait ? 1 : 0, set.ttlMs * 1000])
  return [kind, id, lengthUs, slackUs, most, ...ofParts]
}

function encodeOrder({ reports, wish }: LeaseOrder, ttlMs: number): ScriptArg[] {
  const args = [reports.length, ...reports.flatMap(({ id, used, left }) => [id, used, left])]
  if (!wish) return [...args, 0]
  const { id, most, least, share, lengthUs, lagUs } = wish
  return [...args, 1, id, most, least, share, lengthUs, lagUs, ttlMs * 1000]
}

function encodeUsage(used: readonly Usage[]): number[] {
  return used.flatMap(({ units, ageUs }) => [units, ageUs])
}

/** Refunds as refund.lua reads them. */
export function encodeRefunds(batch: readonly RefundRequest[], sets: LimitSets, layout: Layout): Encoded {
  const keys: string[] = []
  const args: ScriptArg[] = []
  for (const { shard, parts, id } of batch) {
    args.push(parts.length, id === undefined ? '' : endOfId(id))
    for (const { key, set, receipts } of parts) {
      keys.push(layout.nameOf(key, shard))
      args.push(sets.indexOf(set))
      for (let i = 0; i < set.limits.length; i += 1) {
        const { units = 0, at = 0, remaining = 0, reset = 0 } = receipts[i] ?? {}
        args.push(units, at, remaining, reset)
      }
    }
    if (id !== undefined) keys.push(layout.nameOfPage(id, shard))
  }
  return { keys, args }
}

/** A run as consume-slots.lua reads it, from ARGV[2] on. */
export function encodeSlots(
  { set, cost, holder, asked, released }: OnlySlotsRun,
  layout: Layout,
  { shard, nowMs, keptMs }: { readonly shard: number; readonly nowMs: number; readonly keptMs: number },
): EncodedRequests {
  const { stateId, paramsAt } = set.limits[1] as CompiledLimit
  const { quota = 0, hintUs = 0 } = paramsAt(nowMs)
  const [ttl = '', ...limit] = encodeOne(set, nowMs, keptMs)
  const all = [...asked, ...released]
  const numbers = all.flatMap(({ slots }) => [slots?.held ?? 0, slots?.known ?? 0])
  const times = asked.map(({ indices }) => indices.length)
  while (times.at(-1) === 1) times.pop()
  const lists: ScriptArg[] = [asked.length, JSON.stringify([...numbers, ...times])]
  return {
    keys: all.map(({ key }) => layout.nameOf(key, shard)),
    args: [cost, ttl, holder, ...lists, stateId, quota, hintUs, ...limit],
    answered: all.map(({ indices }) => indices),
  }
}

/** The limit sets of a batch as one script argument, which holds each set once. */
export class LimitSets {
  readonly #nowMs: number
  readonly #keptMs: number
  readonly #sets: LimitSet[] = []

  /**
   * @param nowMs  the store's time in ms, roughly: it selects the calendar windows that are sent
   * @param keptMs how many ms longer than necessary keys are kept
   */
  constructor(nowMs: number, keptMs: number) {
    this.#nowMs = nowMs
    this.#keptMs = keptMs
  }

  /** The index of the set in the list that the script gets, from 1. */
  indexOf(set: LimitSet): number {
    const known = this.#sets.indexOf(set)
    return known >= 0 ? known + 1 : this.#sets.push(set)
  }

  /** The sets as JSON, as sets.lua reads them. */
  json(): string {
    return `[${this.#sets.map((set) => this.#encode(set)).join(',')}]`
  }

  /** When the windows of each set begin, as a script argument; empty for one set alone. The sets must differ in nothing else. */
  billingDays(sets: readonly LimitSet[]): string {
    if (sets.every((set) => set === sets[0])) return ''
    let text = ''
    for (const set of sets) text += this.#billingDay(set)
    return text
  }

  #billingDay(set: LimitSet): string {
    const known = billingDays.get(set)
    const nowMs = this.#nowMs
    if (known && nowMs >= known.fromMs && nowMs < known.untilMs) return known.text
    const made = encodeBillingDay(set, nowMs)
    billingDays.set(set, made)
    return made.text
  }

  #encode(set: LimitSet): string {
    const params = set.limits.map((limit) => limit.paramsAt(this.#nowMs))
    const known = encoded.get(set)
    if (known?.keptMs === this.#keptMs && known.params.every((before, i) => before === params[i]))
      return known.json
    const json = encodeSet(set, params, this.#keptMs)
    encoded.set(set, { json, params, keptMs: this.#keptMs })
    return json
  }
}

/** Encoded sets, for reuse: a set's encoding only changes when a calendar window ends. */
const encoded = new WeakMap<LimitSet, { json: string; params: readonly Params[]; keptMs: number }>()

/** The beginnings of a set's windows, for reuse while none of them has ended. */
interface EncodedDay {
  readonly text: string
  readonly fromMs: number
  readonly untilMs: number
}

const billingDays = new WeakMap<LimitSet, EncodedDay>()

/**
 * As short as it can be, since it is sent for each key, and read only when a window has ended: the first start and the lengths of three
 * windows. Days differ in nothing else.
 */
function encodeBillingDay(set: LimitSet, nowMs: number): EncodedDay {
  const starts = billedPositions(set).map((at) => {
    const params = (set.limits[at - 1] as CompiledLimit).paramsAt(nowMs)
    const of = (name: string): number => Math.floor((params[name] as number) / 1000)
    return [of('start0'), of('start1'), of('start2'), of('start3')] as const
  })
  const numbers = starts.flatMap(([start0, start1, start2, start3]) =>
    [start0, start1 - start0, start2 - start1, start3 - start2].map(shortNumber),
  )
  return {
    text: `${numbers.join(',')};`,
    fromMs: Math.max(...starts.map(([, start1]) => start1)),
    untilMs: Math.min(...starts.map(([, , start2]) => start2)),
  }
}

/** To the base 36: in minutes, or with a dash in front in ms. */
function shortNumber(ms: number): string {
  return ms % UNIT_MS.min === 0 ? (ms / UNIT_MS.min).toString(36) : `-${ms.toString(36)}`
}

/** The positions of the limits that begin on a billing day, from 1. */
function billedPositions({ limits, billing }: LimitSet): number[] {
  if (!billing) return []
  return limits.flatMap(({ algorithm }, i) => (algorithm === 'billing-window' ? i + 1 : []))
}

function encodeSet(set: LimitSet, params: readonly Params[], keptMs: number): string {
  const { limits } = set
  const lists = limits.map((limit, i) => [
    limit.algorithm,
    keptId(limit),
    ...implementations[limit.algorithm].wire.map((name) => params[i]?.[name]),
  ])
  const described = [lists, timeToLive(set, keptMs)]
  const areSame = limits.every(({ besideId }) => besideId === undefined)
  const members = [
    areSame ? false : limits.map(({ stateId }) => stateId),
    set.blockAfter ? [set.blockAfter.denials, set.blockAfter.withinUs, set.blockAfter.forUs] : false,
    set.isLenient
      ? limits.flatMap(({ observes, overage }, i) => (observes ? i + 1 : overage ? -1 - i : []))
      : false,
    set.billing ? billedPositions(set) : false,
  ]
  while (members.at(-1) === false) members.pop()
  return JSON.stringify([...described, ...members])
}
