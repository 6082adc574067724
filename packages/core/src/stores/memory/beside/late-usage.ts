import { unitsThatFit, type Usage } from '../../../algorithms/implementation.js'
import type { AnyImplementation } from '../../../algorithms/registry.js'
import type { Params } from '../../../plans/limit/limit-set.js'
import type { CountedWindow } from '../../account.js'
import { toClosed } from './account.js'

/** A limit with overage, as it was loaded. */
interface Overage {
  readonly algorithm: AnyImplementation
  readonly state: object
  readonly params: Params
  /** Its quota in this window. */
  readonly quota: number
  /** In µs. */
  readonly now: number
}

/**
 * What a limit counted in its latest window that is over, with units that were used in it and are counted only now: they are billed
 * with it. Undefined if there are none.
 *
 * @param closed what it counted without them
 */
export function withLate(
  closed: CountedWindow | undefined,
  used: readonly Usage[],
  { algorithm, state, params, quota, now }: Overage,
): CountedWindow | undefined {
  const lengthUs = algorithm.windowUs?.(params) ?? algorithm.countsForUs(params)
  const isByCalendar = algorithm.before !== undefined
  const bound = isByCalendar ? (algorithm.running?.(state, params)?.startUs ?? 0) : now - lengthUs
  const late = used.map(({ units, ageUs }) => ({ units, at: now - ageUs })).filter(({ at }) => at < bound)
  const oldest = Math.min(...late.map(({ at }) => at))
  const [start, end] = isByCalendar
    ? (algorithm.before?.(state, params) ?? [Infinity, Infinity])
    : [oldest, oldest + lengthUs]
  const { startUs, endUs, units: counted, over } = closed ?? { startUs: start, endUs: end, units: 0, over: 0 }
  const own = late.filter(({ at }) => at >= startUs && (isByCalendar || at < endUs))
  const sum = own.reduce((all, one) => all + one.units, 0)
  if (sum === 0) return undefined
  const units = unitsThatFit(sum, counted)
  const whole = (params['whole'] as number | undefined) ?? quota
  const slack = over > 0 ? 0 : Math.max(whole - counted, 0)
  return toClosed({ units: counted + units, startUs, endUs }, over + Math.max(units - slack, 0))
}
