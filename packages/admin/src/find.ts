import type { Limiter, Rule, Subject } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'

/**
 * The rules of one kind that are just about this subject, beginning of ids or plan. `limiter.rules({ of })` also has those of other
 * beginnings that a subject is under. For tools that lift rules.
 *
 * @param of as in `limiter.rules`; for `scale`, the name of a plan
 * @throws {StoreError} when the store does not answer
 * @example for (const rule of await findRules(limiter, 'override', 'acme')) await rule.lift({ by: 'ops' })
 */
export async function findRules(
  limiter: Limiter,
  kind: Rule['kind'],
  of: Subject | string,
): Promise<readonly Rule[]> {
  if (kind === 'scale')
    return (await listOf(limiter, undefined)).filter((rule) => rule.kind === kind && rule.of === of)
  const rules = (await listOf(limiter, of)).filter((rule) => rule.kind === kind)
  const id = typeof of === 'string' ? of : String(of.id)
  if (of === id && id.endsWith('*')) return rules
  // Both an id with a star at its end and the beginning of ids are shown with it.
  const ofBeginning = id.endsWith('*') ? (await listOf(limiter, id)).map(identityOf) : []
  // With hashed ids a rule says the hash, so what was asked for is what is meant.
  return rules.filter(
    (rule) => !rule.of.endsWith('*') || (rule.of === id && !ofBeginning.includes(identityOf(rule))),
  )
}

function identityOf({ kind, setAt, until }: Rule): string {
  return `${kind} ${setAt?.getTime()} ${until.getTime()}`
}

async function listOf(limiter: Limiter, of: Subject | string | undefined): Promise<Rule[]> {
  const rules: Rule[] = []
  for await (const rule of limiter.rules({ of })) rules.push(rule)
  return rules
}

/** Each plan is a question to the store. */
const MOST_PLANS = 20

/** A plan, and what says that a customer has it: its last requests, its last denial, or what it has used. */
export interface SeenPlan {
  readonly plan: string
  readonly planFrom: 'requests' | 'denial' | 'counts'
}

interface WithPlan {
  readonly plan: string
}

/**
 * The plan of a customer by what its requests have left, where nobody says it. For tools beside an application.
 *
 * @param seen.traffic what it did lately, of `limiter.traffic`
 * @param seen.denials its denials, the latest first, of `limiter.denialLog`
 * @param seen.plans   the names of all plans; empty if they are not known
 * @returns undefined if there is nothing of it, or several plans fit
 * @throws {StoreError} when the store does not answer
 */
export async function findSeenPlan(
  limiter: Limiter,
  subject: Subject,
  {
    traffic,
    denials,
    plans,
  }: {
    readonly traffic: WithPlan | undefined
    readonly denials: readonly WithPlan[]
    readonly plans: readonly string[]
  },
): Promise<SeenPlan | undefined> {
  // Groups and limits of a customer's own have names, too, but are no plans.
  const isPlan = ({ plan }: WithPlan): boolean => plan !== '' && (plans.length === 0 || plans.includes(plan))
  if (traffic && isPlan(traffic)) return { plan: traffic.plan, planFrom: 'requests' }
  const denied = denials.find(isPlan)
  if (denied) return { plan: denied.plan, planFrom: 'denial' }
  const plan = await usedPlan(limiter, subject, plans)
  return plan === undefined ? undefined : { plan, planFrom: 'counts' }
}

/** Limits of equal windows count together, so it is the plan of which most limits are used; undefined if that are several. */
async function usedPlan(
  limiter: Limiter,
  subject: Subject,
  plans: readonly string[],
): Promise<string | undefined> {
  let [most, found]: [number, string?] = [0]
  for (const plan of plans.slice(0, MOST_PLANS)) {
    const { limits } = await internalsOf(limiter).look(limiter, [{ ...subject, plan }], true)
    const used = limits.filter(({ used, over = 0, toppedUp = 0 }) => used + over + toppedUp > 0).length
    if (used === most) found = undefined
    if (used > most) [most, found] = [used, plan]
  }
  return found
}
