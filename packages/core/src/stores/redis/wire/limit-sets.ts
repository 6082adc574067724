import { implementations } from '../../../algorithms/registry.js'
import { keptId, type CompiledLimit, type LimitSet, type Params } from '../../../plans/limit/limit-set.js'
import type { ScriptArg } from '../clients/index.js'

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

/** The first limit of a set as arguments of a script for limits of one: the time to live of the set, the id, the parameters. */
export function encodeOne(set: LimitSet, nowMs: number, keptMs: number): readonly ScriptArg[] {
  const [{ algorithm, stateId, paramsAt }] = set.limits as readonly [CompiledLimit]
  const params = paramsAt(nowMs)
  const known = encodedOnes.get(set)
  if (known?.params === params && known.keptMs === keptMs) return known.args
  const values = implementations[algorithm].wire.map((name) => params[name] as number)
  const args = [String(set.ttlMs + keptMs), stateId, ...values]
  encodedOnes.set(set, { args, params, keptMs })
  return args
}

const encodedOnes = new WeakMap<LimitSet, { args: readonly ScriptArg[]; params: Params; keptMs: number }>()

/** Encoded sets, for reuse: a set's encoding only changes when a calendar window ends. */
const encoded = new WeakMap<LimitSet, { json: string; params: readonly Params[]; keptMs: number }>()

function encodeSet({ limits, ttlMs }: LimitSet, params: readonly Params[], keptMs: number): string {
  const lists = limits.map((limit, i) => [
    limit.algorithm,
    keptId(limit),
    ...implementations[limit.algorithm].wire.map((name) => params[i]?.[name]),
  ])
  const described = [lists, String(ttlMs + keptMs)]
  const areSame = limits.every(({ besideId }) => besideId === undefined)
  return JSON.stringify(areSame ? described : [...described, limits.map(({ stateId }) => stateId)])
}
