// The same acts of selling units in memory and on Redis, whose answers must be equal (law 5).
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type Subject,
} from '../../src/index.js'
import { sharedRedis, START_MS } from './benches.js'

/** Acts have what they need of these. `nth` counts decisions and reservations back from the latest. */
export interface BillingAct {
  readonly do: string
  readonly plan: string
  readonly cost: number
  readonly units: number
  readonly key: number
  /** In ms. */
  readonly for: number
  readonly nth: number
  /** In ms. */
  readonly ms: number
}

export interface World {
  readonly limiter: Limiter
  readonly decisions: Decision[]
  readonly reservations: Reservation[]
}

export interface Sold<Act extends BillingAct> {
  readonly plans: NonNullable<LimiterOptions['plans']>
  /** The limit that is booked on. */
  readonly limit: string
  /** Who asks: one subject, so that its units are used up. */
  subjectOf(act: Pick<Act, 'plan'> & Partial<Act>): Subject
  /** Who asks with it, in acts that do `both`. */
  readonly other: Subject
  /** Acts of one test alone, by their name. */
  readonly more?: Readonly<Record<string, (world: World, act: Act) => unknown>>
}

/** Plays the acts on both stores, compares each answer, and at the end where each plan's limits stand. */
export async function playOnBoth<Act extends BillingAct>(
  acts: readonly Act[],
  sold: Sold<Act>,
): Promise<void> {
  const clock = { now: START_MS }
  const now = (): number => clock.now
  const { plans, subjectOf } = sold
  const worldOn = (store: LimiterOptions['store']): World => {
    const options = { plans, defaultPlan: 'small', warnings: false, deadlineMs: 60_000, denials: false }
    const limiter = createLimiter({ ...options, store } as LimiterOptions)
    return { limiter, decisions: [], reservations: [] }
  }
  const memory = worldOn(memoryStore({ now }))
  const redis = worldOn(redisStore(sharedRedis(), { prefix: testPrefix(), now }))
  for (const act of acts) {
    if (act.do === 'wait') clock.now += act.ms
    const [here, there] = [await perform(memory, act, sold), await perform(redis, act, sold)]
    expect([act, there]).toEqual([act, here])
  }
  for (const plan of Object.keys(plans)) {
    const subject = subjectOf({ plan } as Act)
    const [here, there] = [await memory.limiter.peek(subject), await redis.limiter.peek(subject)]
    expect(told(there)).toEqual(told(here))
  }
  await Promise.all([memory.limiter.close(), redis.limiter.close()])
}

/** What a decision says, without where it comes from. */
export function told({ allowed, limits, retryAfterMs, violated, observed, block }: Decision): object {
  return { allowed, limits, retryAfterMs, violated, observed, level: block?.level }
}

async function perform<Act extends BillingAct>(world: World, act: Act, sold: Sold<Act>): Promise<unknown> {
  const { limiter, decisions } = world
  const subject = sold.subjectOf(act)
  switch (act.do) {
    case 'wait':
      return undefined
    case 'consume':
    case 'both': {
      const asked = act.do === 'both' ? [sold.other, subject] : subject
      const decision = await limiter.consume(asked, { cost: act.cost })
      decisions.unshift(decision)
      return told(decision)
    }
    case 'peek':
      return told(await limiter.peek(subject))
    case 'refund': {
      const decision = decisions[act.nth]
      return decision && limiter.refund(decision)
    }
    case 'settle': {
      const decision = decisions[act.nth]
      return decision && limiter.settle(decision, act.cost)
    }
    case 'reserve':
    case 'commit':
      return reserveOrCommit(world, act, subject)
    default:
      return sold.more?.[act.do]?.(world, act) ?? bill(world, act, { subject, limit: sold.limit })
  }
}

async function reserveOrCommit(
  { limiter, reservations }: World,
  act: BillingAct,
  subject: Subject,
): Promise<unknown> {
  if (act.do === 'reserve') {
    const reservation = await limiter.reserve(subject, { cost: act.cost, for: '30min' })
    if (reservation.allowed) reservations.unshift(reservation)
    return told(reservation.decision)
  }
  const reservation = reservations[act.nth]
  return reservation && (act.cost === 0 ? reservation.cancel() : reservation.commit(act.cost))
}

async function bill(
  { limiter }: World,
  act: BillingAct,
  { subject, limit }: { readonly subject: Subject; readonly limit: string },
): Promise<unknown> {
  const [key, { units }] = [String(act.key), act]
  const codeOf = ({ code }: { readonly code: string }): string => code
  switch (act.do) {
    case 'topUp':
      return limiter.topUp(subject, { limit, units, for: act.for, key }).catch(codeOf)
    case 'renew':
      return limiter.renew(subject, { limit, key }).catch(codeOf)
    case 'penalize':
      return limiter.penalize(subject, { limit, units, key }).catch(codeOf)
    case 'usage':
      return limiter.usageOf(subject, { limit })
    default:
      throw new Error(`There is no act ${act.do}`)
  }
}
