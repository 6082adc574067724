import {
  createLimiter,
  type Inspection,
  type Rule,
  type Store,
  type Subject,
  type Usage,
} from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import type { RuleEntry, RuleList, RulesCall, RulesReply } from '@tollgate/core/store'
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
}

/** @throws {CommandError} when nobody knows the plans, or no such plan is among them */
export async function see(session: Session, given: Subject): Promise<Seen> {
  const { limiter, plans, nowMs } = session
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
  const look = await (blockedBy
    ? lookBehindBlock(session, subject)
    : internalsOf(limiter).look(limiter, [subject]))
  for await (const rule of limiter.rules())
    if (rule.kind === 'scale' && rule.of === look.decision.plan) rules.push(rule)
  const usage: Usage[] = []
  for (const { name } of look.limits) {
    const one = await limiter.usageOf(withItsPlan(subject, look), { limit: name }).catch(ifNoConfig)
    if (one) usage.push(one)
  }
  return { subject, planFrom, look, usage, rules, blockedBy }
}

/** `usageOf` takes no id alone where there are several plans. */
function withItsPlan(subject: Subject, { decision: { plan } }: Look): Subject {
  return plan === '' || subject.plan !== undefined ? subject : { ...subject, plan }
}

async function lookBehindBlock({ options, store }: Session, subject: Subject): Promise<Look> {
  const limiter = createLimiter({ ...options, store: withoutBlocks(store), traffic: false })
  try {
    // Until the rules are read once, a limiter knows no override.
    await limiter.rules()[Symbol.asyncIterator]().next()
    return await internalsOf(limiter).look(limiter, [subject])
  } finally {
    await limiter.close()
  }
}

/** The same store, where no rule blocks. What it is asked changes nothing, and it stays open. */
function withoutBlocks(store: Store): Store {
  // A store of its own for core, or both would share what is known of the rules.
  const space = {}
  const rules = store.rules && { sync: (call: RulesCall) => readWithoutBlocks(store.rules as RuleList, call) }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'space') return space
      if (name === 'rules') return rules
      if (name === 'close') return undefined
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function readWithoutBlocks(rules: RuleList, { known }: RulesCall): Promise<RulesReply> {
  const reply = await rules.sync({ known, changes: [], restored: [] })
  const isBlock = ({ text }: RuleEntry): boolean => text.includes('"kind":"block"')
  // An entry without a text is a rule that was lifted.
  return { ...reply, entries: reply.entries.map((one) => (isBlock(one) ? { ...one, text: '' } : one)) }
}
