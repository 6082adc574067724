import { subjectForIp, type Limiter, type Subject } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import { findSeenPlan } from '../find.js'
import type { PlanAnswer, RuleAnswer, RulesAnswer, StateAnswer, SubjectAnswer } from '../answers.js'
import { Shared } from '../shared.js'
import { plansOf } from './plans.js'
import { noneIfUnsupported } from './reason.js'
import { historyOf, rulesOf } from './rules.js'

type Look = Awaited<ReturnType<ReturnType<typeof internalsOf>['look']>>

/** Of whom to report. */
export interface Asked {
  readonly id: string
  readonly isAddress: boolean
  readonly plan: string | undefined
}

/** Denials and changes of a subject are read so often at most, in ms, for all who look at it. */
const LOG_MS = 10_000
const [MOST_DENIALS, MOST_REMEMBERED] = [100, 100]
/** A report is shared for so long, in ms. */
const REPORT_MS = 1000
const [AT_ONCE, MOST_WAITING] = [4, 100]

/** More subjects are looked at than can be reported of in time. */
export class TooManyReports extends Error {}

interface Logs extends Pick<SubjectAnswer, 'traffic' | 'denials' | 'denialsFrom' | 'history'> {
  readonly plan: Promise<Found>
}

/** A plan, and who said it. */
export type Found = Pick<SubjectAnswer, 'planFrom'> & { readonly plan?: string }

/** Says where subjects stand. */
export class SubjectReports {
  readonly #limiter: Limiter
  readonly #rules: Shared<RulesAnswer>
  readonly #reports = new Map<string, Shared<SubjectAnswer>>()
  readonly #waiting: (() => void)[] = []
  #running = 0
  readonly #logs = new Map<string, Shared<Logs>>()

  /** @param rules all that hold */
  constructor(limiter: Limiter, rules: Shared<RulesAnswer>) {
    this.#limiter = limiter
    this.#rules = rules
  }

  /**
   * The plan of a subject by now, and who says it. For what must not be booked on the plan before an upgrade.
   *
   * @throws as `report` does
   */
  planByNow(asked: Asked): Promise<Found> {
    this.forget()
    return this.#planOf(asked)
  }

  async #planOf(asked: Asked): Promise<Found> {
    const known = plansOf(this.#limiter).map(({ name }) => name)
    // Limits that a customer has for itself have a name, too, but are no plan.
    if (asked.plan !== undefined && (known.length === 0 || known.includes(asked.plan)))
      return { plan: asked.plan, planFrom: 'operator' }
    const { plan } = await this.#logsOf(asked)
    return plan
  }

  /**
   * Shared by all who look at the same subject, and made for some subjects at a time: the application has to go on.
   *
   * @throws {TollgateError} for an id that is none, or a store that does not answer
   * @throws {TooManyReports}
   */
  async report(asked: Asked): Promise<SubjectAnswer> {
    const key = JSON.stringify([asked.id, asked.isAddress, asked.plan])
    const make = (): Promise<SubjectAnswer> => this.#inTurn(() => this.#make(asked))
    return sharedOf(this.#reports, key, () => new Shared(make, REPORT_MS))
  }

  async #inTurn<T>(make: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) {
      if (this.#waiting.length >= MOST_WAITING) throw new TooManyReports()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#running += 1
    try {
      return await make()
    } finally {
      this.#running -= 1
      this.#waiting.shift()?.()
    }
  }

  async #make(asked: Asked): Promise<SubjectAnswer> {
    const { id, isAddress } = asked
    const given = subjectOf(asked)
    const [logs, found] = await Promise.all([this.#logsOf(asked), this.#planOf(asked)])
    const subject = found.plan === undefined ? given : { ...given, plan: found.plan }
    const rules = await rulesOf(this.#limiter, subject)
    const block = rules.find(({ kind }) => kind === 'block')
    const look = await internalsOf(this.#limiter).look(this.#limiter, [subject], true)
    const { plan } = look.decision
    const known = plansOf(this.#limiter).find(({ name }) => name === plan)
    const all = await this.#rules.value()
    const scales = all.rules.filter(({ kind, of }) => kind === 'scale' && of === plan)
    return {
      ...{ id, isAddress, plan, planFrom: found.planFrom, at: new Date(look.atMs).toISOString() },
      ...blockedBy(look, block),
      isOverridden: look.override !== undefined,
      limits: look.limits.map((limit) => ({
        ...toState(limit, look.atMs),
        ...hasWindows(known, limit.name),
      })),
      rules: [...rules, ...scales],
      ...{
        traffic: logs.traffic,
        denials: logs.denials,
        denialsFrom: logs.denialsFrom,
        history: logs.history,
      },
    }
  }

  /** After a change, its history is read again at once. */
  forget(): void {
    this.#logs.clear()
    this.#reports.clear()
  }

  #logsOf(asked: Asked): Promise<Logs> {
    const key = JSON.stringify([asked.id, asked.isAddress])
    return sharedOf(this.#logs, key, () => new Shared(() => this.#readLogs(subjectOf(asked)), LOG_MS))
  }

  async #readLogs(given: Subject): Promise<Logs> {
    const none = { from: new Date(), denials: [] }
    const [log, history, { busiest }] = await Promise.all([
      this.#limiter.denialLog({ of: given }).catch(noneIfUnsupported(none)),
      historyOf(this.#limiter, given),
      this.#limiter.traffic({ of: given, most: 1 }).catch(noneIfUnsupported({ busiest: [] })),
    ])
    const [traffic = null] = busiest
    const denials = log.denials.slice(0, MOST_DENIALS).map(({ first, last, override: _, ...one }) => ({
      ...one,
      ...{ first: first.toISOString(), last: last.toISOString() },
    }))
    const plan = this.#findPlan(given, { traffic, denials })
    // Who asks with a plan does not wait for this.
    plan.catch(() => {})
    return { traffic, denials, denialsFrom: log.from.toISOString(), history, plan }
  }

  /** Who knows best is asked first. */
  async #findPlan(given: Subject, { traffic, denials }: Pick<Logs, 'traffic' | 'denials'>): Promise<Found> {
    const told = await this.#limiter.inspect(given).catch(ifNobodyAnswers)
    if (told && !told.isDefaultPlan) return { plan: told.plan, planFrom: 'application' }
    const plans = plansOf(this.#limiter).map(({ name }) => name)
    const seen = { traffic: traffic ?? undefined, denials, plans }
    return (await findSeenPlan(this.#limiter, given, seen)) ?? { planFrom: 'default' }
  }
}

/** What is shared under this key. Of too many, all are forgotten. */
function sharedOf<T>(all: Map<string, Shared<T>>, key: string, make: () => Shared<T>): Promise<T> {
  const known = all.get(key)
  if (known) return known.value()
  if (all.size >= MOST_REMEMBERED) all.clear()
  const made = make()
  all.set(key, made)
  return made.value()
}

function subjectOf({ id, isAddress }: Asked): Subject {
  return isAddress ? subjectForIp(id) : { id }
}

/** No process of the application can be asked, or none answered. */
function ifNobodyAnswers(error: unknown): undefined {
  const { code, reason } = error as { readonly code?: unknown; readonly reason?: unknown }
  const isSilent = code === 'ERR_TOLLGATE_STORE_TIMEOUT' || reason === 'protocol'
  if (isSilent || code === 'ERR_TOLLGATE_CONFIG') return undefined
  throw error
}

function blockedBy({ decision }: Look, rule: RuleAnswer | undefined): Pick<SubjectAnswer, 'blocked'> {
  if (rule) {
    const { until, reason, level } = rule
    return { blocked: { until, ...(reason !== undefined && { reason }), byItself: level !== undefined } }
  }
  // Its plan is `blocked`.
  return decision.reason === 'blocked' ? { blocked: { until: null, byItself: false } } : {}
}

function hasWindows(plan: PlanAnswer | undefined, name: string): Pick<StateAnswer, 'hasWindows'> {
  const limit = plan?.limits.find((one) => one.name === name)
  return limit?.hasWindows === undefined ? {} : { hasWindows: limit.hasWindows }
}

function toState(limit: Look['limits'][number], atMs: number): StateAnswer {
  const { timeZone: _, ...state } = limit
  const backAt = state.resetMs === 0 ? null : new Date(atMs + state.resetMs).toISOString()
  return { ...state, backAt }
}
