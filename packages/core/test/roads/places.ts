// Turns the plans and places of a schedule into plans and scopes as a user writes them.
import type { Consumer, LimitInput, Limiter, LimiterOptions, Subject } from '../../src/index.js'
import { inputOf, type LimitSpec } from './limits.js'
import { NO_LIMIT } from './lines.js'
import type { Ask, Plans, Schedule, Who } from './schedule.js'
import type { LeaseOptions } from '../../src/plans/options/lease-option.js'

/** How the plans of a schedule are leased, and the limits of its places `own` and `stacked`. */
export type Leases = Readonly<Record<string, LeaseOptions | undefined>>

/** So many that no schedule meets a block: the denials are counted, and must change nothing else. */
const COUNTING = { denials: 1_000_000, within: '1s', for: ['1s'] } as const

export function plansInput(plans: Plans, leases: Leases = {}): NonNullable<LimiterOptions['plans']> {
  return Object.fromEntries(
    Object.entries(plans).map(([name, specs]) => {
      const [lease, limits] = [leases[name], inputsOf(specs)]
      if (lease) return [name, { limits, lease }]
      return [name, countsDenials(specs) ? { limits, blockAfter: COUNTING } : limits]
    }),
  )
}

/** About half of the plans count denials, also those that others replace. */
function countsDenials(specs: readonly LimitSpec[]): boolean {
  const inTime = specs.filter(({ kind, overage }) => kind !== 'flight' && !overage)
  return inTime.length > 0 && inTime.reduce((sum, { quota }) => sum + quota, 0) % 2 === 0
}

export function inputsOf(specs: readonly LimitSpec[], lease?: LeaseOptions): LimitInput[] {
  return specs.map((spec, i) => ({ ...inputOf(spec, `l${i}`), ...(lease && { lease }) }))
}

/** Subjects as a caller gives them: limits that they bring are made anew for each request. */
export function subjectsOf(who: readonly Who[], plans: Plans): Subject[] {
  return who.map(({ id, kind, plan, bringsLimits, day }) => {
    const sells = bringsLimits ? { limits: inputsOf(plans[plan] as readonly LimitSpec[]) } : { plan }
    return { id, kind, ...sells, ...day }
  })
}

export type Places = Readonly<Record<Ask['place'], Consumer>>

export function placesOf(
  limiter: Limiter,
  { own, stacked }: Pick<Schedule, 'own' | 'stacked'>,
  leases: Leases = {},
): Places {
  const stack = { s: inputsOf(stacked, leases['stacked']) }
  return {
    app: limiter,
    group: limiter.scope({ group: 'g' }),
    own: limiter.scope({ group: 'h', limit: inputsOf(own, leases['own']) }),
    stacked: limiter.scope({ stacked: stack }),
    both: limiter.scope({ group: 'g', stacked: stack }),
    top: limiter.scope({ group: 'top', limit: inputsOf([NO_LIMIT]), stacked: stack }),
  }
}

/** One request for each key of a request. A peek at all keys would list only the limits of the step that denies. */
export function apart({ place, who }: Ask): Ask[] {
  const [payer] = who
  const isOnTop = place === 'stacked' || place === 'both' || place === 'top'
  const alone = { stacked: 'app', both: 'group', app: 'app', group: 'group', own: 'own', top: 'top' } as const
  const asks = who.map((one): Ask => ({ place: alone[place], who: [one], cost: 1 }))
  return isOnTop && payer ? [...asks, { place: 'top', who: [payer], cost: 1 }] : asks
}
