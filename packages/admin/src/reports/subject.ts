import { subjectForIp, type Limiter, type Subject } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import type { DenialAnswer, RuleAnswer, StateAnswer, SubjectAnswer } from '../answers.js'
import type { Live } from '../live.js'
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

interface Logs extends Pick<SubjectAnswer, 'denials' | 'denialsFrom' | 'history'> {
  readonly plan: Promise<Found>
}

/** A plan, and who said it. */
export type Found = Pick<SubjectAnswer, 'planFrom'> & { readonly plan?: string }

/** Says where subjects stand. */
export class SubjectReports {
  readonly #limiter: Limiter
  readonly #live: Live
  readonly #logs = new Map<string, { readonly atMs: number; readonly logs: Promise<Logs> }>()

  constructor(limiter: Limiter, live: Live) {
    this.#limiter = limiter
    this.#live = live
  }

  /**
   * The plan of a subject, and who says it.
   *
   * @throws as `report` does
   */
  async planOf(asked: Asked): Promise<Found> {
    if (asked.plan !== undefined) return { plan: asked.plan, planFrom: 'operator' }
    const { plan } = await this.#logsOf(asked)
    return plan
  }

  /** @throws {TollgateError} for an id that is none, or a store that does not answer */
  async report(asked: Asked): Promise<SubjectAnswer> {
    const { id, isAddress } = asked
    const given = subjectOf(asked)
    const [logs, found] = await Promise.all([this.#logsOf(asked), this.planOf(asked)])
    const subject = found.plan === undefined ? given : { ...given, plan: found.plan }
    const rules = await rulesOf(this.#limiter, subject)
    const block = rules.find(({ kind }) => kind === 'block')
    const look = await internalsOf(this.#limiter).look(this.#limiter, [subject], true)
    const { plan } = look.decision
    const scales = (await rulesOf(this.#limiter)).filter(({ kind, of }) => kind === 'scale' && of === plan)
    return {
      ...{ id, isAddress, plan, planFrom: found.planFrom, at: new Date(look.atMs).toISOString() },
      ...blockedBy(look, block),
      isOverridden: look.override !== undefined,
      limits: look.limits.map((limit) => toState(limit, look.atMs)),
      rules: [...rules, ...scales],
      traffic: this.#live.view?.busiest.find((one) => one.subject === id) ?? null,
      ...{ denials: logs.denials, denialsFrom: logs.denialsFrom, history: logs.history },
    }
  }

  /** After a change, its history is read again at once. */
  forget(): void {
    this.#logs.clear()
  }

  #logsOf(asked: Asked): Promise<Logs> {
    const key = JSON.stringify([asked.id, asked.isAddress])
    const known = this.#logs.get(key)
    if (known && performance.now() < known.atMs + LOG_MS) return known.logs
    if (this.#logs.size >= MOST_REMEMBERED) this.#logs.clear()
    const logs = this.#readLogs(subjectOf(asked))
    this.#logs.set(key, { atMs: performance.now(), logs })
    logs.catch(() => this.#logs.delete(key))
    return logs
  }

  async #readLogs(given: Subject): Promise<Logs> {
    const none = { from: new Date(), denials: [] }
    const [log, history] = await Promise.all([
      this.#limiter.denialLog({ of: given }).catch(noneIfUnsupported(none)),
      historyOf(this.#limiter, given),
    ])
    const denials = log.denials.slice(0, MOST_DENIALS).map(({ first, last, override: _, ...one }) => ({
      ...one,
      ...{ first: first.toISOString(), last: last.toISOString() },
    }))
    const plan = this.#findPlan(given, denials)
    // Who asks with a plan does not wait for this.
    plan.catch(() => {})
    return { denials, denialsFrom: log.from.toISOString(), history, plan }
  }

  /** Who knows best is asked first. */
  async #findPlan(given: Subject, denials: readonly DenialAnswer[]): Promise<Found> {
    const told = await this.#limiter.inspect(given).catch(ifNobodyAnswers)
    if (told && !told.isDefaultPlan) return { plan: told.plan, planFrom: 'application' }
    const { busiest } = await this.#limiter
      .traffic({ of: given, most: 1 })
      .catch(noneIfUnsupported({ busiest: [] }))
    const [seen] = busiest
    if (seen && seen.plan !== '') return { plan: seen.plan, planFrom: 'requests' }
    const denied = denials.find(({ plan }) => plan !== '')
    return denied ? { plan: denied.plan, planFrom: 'denial' } : { planFrom: 'default' }
  }
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

function toState(limit: Look['limits'][number], atMs: number): StateAnswer {
  const { timeZone: _, ...state } = limit
  const backAt = state.resetMs === 0 ? null : new Date(atMs + state.resetMs).toISOString()
  return { ...state, backAt }
}
