import type { Receipt } from '../algorithms/implementation.js'
import type { Ask, Outcome, RefundRequest } from './contract.js'

/** What gives units of an outcome back, for each key that it took them from. */
export function refundsOf(
  asks: readonly Pick<Ask, 'key' | 'set'>[],
  { at, limits }: Outcome,
  units: number,
): RefundRequest[] {
  let next = 0
  return asks.map(({ key, set }) => {
    const own = limits.slice(next, (next += set.limits.length))
    const told = own.map(({ remaining, reset }): Receipt => ({ units, at, remaining, reset }))
    return { key, set, limits: told }
  })
}

/** Every key that a request asks for units of. */
export function asksOf({
  key,
  set,
  cost,
  also = [],
}: Ask & { readonly also?: readonly Ask[] | undefined }): Ask[] {
  return [{ key, set, cost }, ...also]
}
