import type { Inspection, Rule, Subject, Usage } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import { needPlan } from '../../session/configuration.js'
import { findPlan, ifNoConfig, type PlanFrom } from '../../session/plan.js'
import type { Session } from '../../session/session.js'

type Look = Awaited<ReturnType<ReturnType<typeof internalsOf>['look']>>

/** All that is known of a customer. */
export interface Seen {
  readonly subject: Subject
  readonly planFrom: PlanFrom
  readonly look: Pick<Look, 'atMs'> & {
    readonly decision: Inspection
    readonly limits: readonly Omit<Look['limits'][number], 'timeZone'>[]
  }
  /** Of each limit whose window begins and ends. */
  readonly usage: readonly Usage[]
  readonly rules: readonly Rule[]
  /** Set while a rule blocks the customer. */
  readonly blockedBy: Rule | undefined
  /** Why `planOf` of the plans file named no plan, if it failed. */
  readonly planError?: string | undefined
}

/** @throws {CommandError} when nobody knows the plans, or no such plan is among them */
export async function see(session: Session, given: Subject): Promise<Seen> {
  const { limiter, plans, nowMs } = session
  let planError: string | undefined
  limiter.on('planError', ({ message }) => (planError = message))
  const rules: Rule[] = []
  for await (const rule of limiter.rules({ of: given })) rules.push(rule)
  const blockedBy = rules.find(({ kind, level }) => kind === 'block' && level === undefined)
  const { told, planFrom, plan } = await findPlan(session, given)
  const subject = plan === undefined ? given : { ...given, plan }
  const isKnown = plans && (plan === undefined || Object.hasOwn(plans.options.plans ?? {}, plan))
  // The application has other plans than are known here, so there is only what it says itself.
  if (told && !isKnown) {
    const look = { decision: told, limits: told.limits, atMs: nowMs }
    return { subject, planFrom, look, usage: [], rules, blockedBy }
  }
  needPlan(session, plan)
  // A rule that blocks a customer answers before its limits are asked. So they are asked where no rule blocks.
  const look = await internalsOf(limiter).look(limiter, [subject], blockedBy !== undefined)
  for await (const rule of limiter.rules())
    if (rule.kind === 'scale' && rule.of === look.decision.plan) rules.push(rule)
  const usage: Usage[] = []
  for (const { name } of look.limits) {
    const one = await limiter.usageOf(withItsPlan(subject, look), { limit: name }).catch(ifNoConfig)
    if (one) usage.push(one)
  }
  return { subject, planFrom, look, usage, rules, blockedBy, planError }
}

/** `usageOf` takes no id alone where there are several plans. */
function withItsPlan(subject: Subject, { decision: { plan } }: Look): Subject {
  return plan === '' || subject.plan !== undefined ? subject : { ...subject, plan }
}
