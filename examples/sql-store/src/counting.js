// Decides requests by the algorithms of Tollgate, on states that a store has loaded. It knows no database.

/**
 * @typedef {import('@tollgate/core/store').StoreRequest} StoreRequest
 * @typedef {import('@tollgate/core/store').SubRequest} SubRequest
 * @typedef {import('@tollgate/core/store').RefundRequest} RefundRequest
 * @typedef {import('@tollgate/core/store').Outcome} Outcome
 * @typedef {import('./rows.js').Opened} Opened
 * @typedef {import('@tollgate/core/store').ChargedPart} ChargedPart
 * @typedef {Opened & { part: SubRequest & Partial<ChargedPart>, i: number }} Asked a limit of a part, and which of them it is
 * @typedef {(key: string) => import('./rows.js').Row} RowOf
 */

/**
 * Decides a request, and takes what it is granted.
 *
 * @param {StoreRequest} request
 * @param {RowOf} rowOf
 * @param {number} at now, in µs
 * @returns {Outcome}
 */
export function decide(request, rowOf, at) {
  const limits = openAll(request, rowOf, at)
  if (request.grant === 'force') return { at, limits: limits.map(charge) }
  if (request.grant === 'declare' || request.grant === 'release')
    return { at, limits: limits.map((limit) => tell(limit, request.grant)) }
  return ask(request, limits, at, true)
}

/**
 * What `decide` would answer to a request with grant `all`. Takes nothing.
 *
 * @param {StoreRequest} request
 * @param {RowOf} rowOf
 * @param {number} at now, in µs
 */
export function look(request, rowOf, at) {
  return ask(request, openAll(request, rowOf, at), at, false)
}

/**
 * Gives units back. Returns whether there were any.
 *
 * @param {RefundRequest} request
 * @param {RowOf} rowOf
 * @param {number} at now, in µs
 */
export function giveBack({ parts }, rowOf, at) {
  let isGiven = false
  for (const { key, set, receipts } of parts) {
    rowOf(key)
      .open(set, at)
      .forEach(({ algorithm, state, params, isNew, save }, i) => {
        const receipt = receipts[i]
        if (isNew || !receipt || algorithm.isOther?.(state, params)) return
        if (algorithm.give(state, receipt, params)) isGiven = true
        // Also where nothing was given: the algorithm has brought what is written to now.
        save()
      })
  }
  return isGiven
}

/**
 * @param {StoreRequest} request
 * @param {RowOf} rowOf
 * @param {number} at
 * @returns {Asked[]}
 */
function openAll({ parts }, rowOf, at) {
  return parts.flatMap((part) =>
    rowOf(part.key)
      .open(part.set, at)
      .map((limit, i) => ({ ...limit, part, i })),
  )
}

/**
 * The grants `all` and `upTo`: the cost from every limit, or as much of it as all have.
 *
 * @param {StoreRequest} request
 * @param {readonly Asked[]} limits
 * @param {number} at
 * @param {boolean} takes
 * @returns {Outcome}
 */
function ask({ grant }, limits, at, takes) {
  for (const { algorithm, state, params, part } of limits) {
    if (part.slots && algorithm.declare) algorithm.declare(state, part.slots, params)
  }
  const waits = limits.map(({ algorithm, state, params, part }) => algorithm.wait(state, part.cost, params))
  const fits = waits.every((wait) => wait === 0)
  const isUpTo = grant === 'upTo'
  // A request in flight takes one slot, whatever it costs: slots do not bound the units that it gets.
  const inTime = isUpTo ? limits.filter(({ algorithm }) => !algorithm.inFlight) : limits
  const room = inTime.map(({ algorithm, state, params, part }) =>
    Math.min(algorithm.remaining(state, params), part.cost),
  )
  const units = Math.min(...room)
  for (const { algorithm, state, params, part, save } of inTime) {
    if (!takes || (isUpTo ? units === 0 : !fits)) break
    algorithm.take(state, isUpTo ? units : part.cost, params)
    save()
  }
  return {
    at,
    limits: limits.map((limit, i) => ({
      ...standing(limit),
      wait: waits[i] ?? 0,
      ...(isUpTo && { granted: units }),
    })),
  }
}

/**
 * The grant `force`: what was used, over the quota if need be.
 *
 * @param {Asked} limit
 */
function charge(limit) {
  const { algorithm, state, params, part, i, save } = limit
  const granted = algorithm.force(state, part.used?.[i] ?? [], params)
  save()
  return { ...standing(limit), wait: 0, granted }
}

/**
 * The grants `declare` and `release`: only requests in flight are told of.
 *
 * @param {Asked} limit
 * @param {string} grant
 */
function tell(limit, grant) {
  const { algorithm, state, params, part, save } = limit
  if (!part.slots || !algorithm.declare) return { wait: 0, remaining: 0, reset: 0 }
  if (grant === 'declare' || !algorithm.release?.(state, part.slots)) {
    algorithm.declare(state, part.slots, params)
    algorithm.take(state, 0, params)
  }
  save()
  return { ...standing(limit), wait: 0 }
}

/**
 * Where a limit stands now.
 *
 * @param {Asked} limit
 */
function standing({ algorithm, state, params, part }) {
  const remaining = algorithm.remaining(state, params)
  const slot = part.slots && algorithm.slotOf?.(state)
  const reset = algorithm.inFlight ? 0 : Math.max(algorithm.wait(state, remaining + 1, params), 0)
  return { remaining, reset, ...(slot !== undefined && { slot }) }
}
