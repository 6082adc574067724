import { implementations } from '../../algorithms/registry.js'
import type { CompiledLimit, LimitSet, Params } from './limit-set.js'

/** The most units that one request can take from a limit, at a time in ms since 1970. */
export function capacityOf({ algorithm, paramsAt }: CompiledLimit, nowMs: number): number {
  return implementations[algorithm].capacity(paramsAt(nowMs))
}

/** The same limits with a share (0 to 1) of their units, rounded down, but at least one of each limit. */
export function shareOf(set: LimitSet, share: number): LimitSet {
  if (share === 1) return set
  const known = shares.get(set)
  if (known?.share === share) return known.set
  const scaled = { ...set, limits: set.limits.map((limit) => scaleLimit(limit, share)) }
  shares.set(set, { share, set: scaled })
  return scaled
}

const shares = new WeakMap<LimitSet, { share: number; set: LimitSet }>()

/** As shareOf, of one limit. */
export function scaleLimit(limit: CompiledLimit, share: number): CompiledLimit {
  let known: Params | undefined
  let scaled: Params = {}
  return {
    ...limit,
    // Computed when needed, since parameters of a calendar window change with the time.
    paramsAt(nowMs, behindMs) {
      const params = limit.paramsAt(nowMs, behindMs)
      if (params !== known) {
        known = params
        scaled = implementations[limit.algorithm].scale(params, share)
      }
      return scaled
    },
  }
}
