// What a row holds: the states of the limits of a key as JSON, each under its state id.
import { implementations } from '@tollgate/core/store'

/**
 * @typedef {import('@tollgate/core/store').CompiledLimit} CompiledLimit
 * @typedef {import('@tollgate/core/store').LimitSet} LimitSet
 * @typedef {import('@tollgate/core/store').AnyImplementation} AnyImplementation
 *
 * @typedef {[stateId: number, which: number, last: number, until: number, packed: number[] | object]} Packed
 *   `which`: of several limits with one state id: its `besideId`, or without one how many come before it;
 *   `last`: when it was written; `until`: from when on nothing of it counts; both in µs
 *
 * @typedef {object} Entry a state that a request has loaded
 * @property {CompiledLimit} limit
 * @property {object} state
 * @property {number} last
 * @property {number} until
 *
 * @typedef {object} Opened a limit, brought to now
 * @property {AnyImplementation} algorithm
 * @property {Readonly<Record<string, number>>} params
 * @property {object} state
 * @property {boolean} isNew nothing was kept of it
 * @property {() => void} save
 */

/** The states of one key, in a transaction. */
export class Row {
  /** @type {Map<string, Packed>} what was read, and nobody has asked for yet */
  #kept = new Map()
  /** @type {Map<string, Entry>} */
  #loaded = new Map()
  isChanged = false

  /** @param {string} text what stands in the database; empty if nothing does */
  constructor(text) {
    if (text === '') return
    for (const packed of /** @type {Packed[]} */ (JSON.parse(text))) {
      this.#kept.set(`${packed[0]} ${packed[1]}`, packed)
    }
  }

  /**
   * The limits of a set, brought to now. Two of them with one state id count apart. A bucket beside a slower one of the same
   * window begins with what that has used: its own state is forgotten when others are asked without it.
   *
   * @param {LimitSet} set
   * @param {number} at now, in µs
   * @returns {Opened[]}
   */
  open({ limits }, at) {
    return limits.map((limit, i) => {
      const name = nameOf(limits, i)
      const algorithm = implementations[limit.algorithm]
      const params = limit.paramsAt(at / 1000)
      const known = this.#known(name, limit) ?? this.#copy(`${limit.stateId} 0`, limit)
      const { state, last } = known ?? { state: algorithm.create(), last: at }
      algorithm.load(state, last, at, params)
      const save = () => {
        this.#loaded.set(name, { limit, state, last: at, until: at + limit.ttlMs * 1000 })
        this.isChanged = true
        const names = limits.map((_, j) => nameOf(limits, j))
        for (const states of [this.#kept, this.#loaded]) {
          for (const other of states.keys())
            if (isBeside(other, limit) && !names.includes(other)) states.delete(other)
        }
      }
      return { algorithm, params, state, isNew: !known, save }
    })
  }

  /**
   * What a bucket begins with that has no state of its own.
   *
   * @param {string} name of the state of the slower one
   * @param {CompiledLimit} limit
   * @returns {Entry | undefined}
   */
  #copy(name, limit) {
    const known = limit.besideId === undefined ? undefined : this.#known(name, limit)
    return known && { ...known, state: structuredClone(known.state) }
  }

  /**
   * @param {string} name
   * @param {CompiledLimit} limit
   * @returns {Entry | undefined}
   */
  #known(name, limit) {
    const loaded = this.#loaded.get(name)
    if (loaded) return loaded
    const packed = this.#kept.get(name)
    if (!packed) return undefined
    const [, , last, until, numbers] = packed
    const { create, packing } = implementations[limit.algorithm]
    const state = Array.isArray(numbers) ? create() : numbers
    if (Array.isArray(numbers)) packing?.unpack(state, Float64Array.from(numbers), 0)
    const entry = { limit, state, last, until }
    this.#kept.delete(name)
    this.#loaded.set(name, entry)
    return entry
  }

  /**
   * What the row holds from now on, and until when it counts. States of other plans stay as long as they count.
   *
   * @param {number} at now, in µs
   * @returns {{ text: string, expires: number }}
   */
  pack(at) {
    const packed = [...this.#kept.values()]
    for (const [name, entry] of this.#loaded) packed.push(packedOf(name, entry))
    const counting = packed.filter(([, , , until]) => until > at)
    return {
      text: JSON.stringify(counting),
      expires: Math.max(at, ...counting.map(([, , , until]) => until)),
    }
  }
}

/**
 * @param {readonly CompiledLimit[]} limits
 * @param {number} i
 */
function nameOf(limits, i) {
  const { stateId, besideId } = /** @type {CompiledLimit} */ (limits[i])
  const nth = limits.slice(0, i).filter((limit) => limit.stateId === stateId && !limit.besideId).length
  return `${stateId} ${besideId ?? nth}`
}

/**
 * Whether a state is that of a bucket beside a slower one of this window.
 *
 * @param {string} name
 * @param {CompiledLimit} limit
 */
function isBeside(name, { stateId }) {
  const [id, which = 0] = name.split(' ').map(Number)
  return id === stateId && which >= 2 ** 28
}

/**
 * @param {string} name
 * @param {Entry} entry
 * @returns {Packed}
 */
function packedOf(name, { limit, state, last, until }) {
  const [stateId = 0, which = 0] = name.split(' ').map(Number)
  const { packing } = implementations[limit.algorithm]
  const numbers = new Float64Array(packing?.size ?? 0)
  // A state of any algorithm is JSON: numbers, lists and plain objects. A few numbers are shorter, where they suffice.
  const isPacked = packing?.pack(state, numbers, 0) === true
  return [stateId, which, last, until, isPacked ? [...numbers] : state]
}
