import type { Limiter, Rule, RuleRecord, Subject } from '@tollgate/core'
import type { HistoryAnswer, RuleAnswer, RulesAnswer } from '../answers.js'
import { noneIfUnsupported } from './reason.js'

const MOST_CHANGES = 200

/** @throws {StoreError} when the store does not answer */
export async function rulesReport(limiter: Limiter): Promise<RulesAnswer> {
  const [rules, history] = await Promise.all([rulesOf(limiter), historyOf(limiter)])
  return { rules, history }
}

/**
 * The rules that hold now: all, or those for one subject.
 *
 * @throws {StoreError} when the store does not answer
 */
export async function rulesOf(limiter: Limiter, of?: Subject | string): Promise<readonly RuleAnswer[]> {
  const read = async (): Promise<readonly RuleAnswer[]> => {
    const rules: RuleAnswer[] = []
    for await (const rule of limiter.rules(of === undefined ? {} : { of })) {
      if (rule.kind !== 'forgetPlan') rules.push(toRule(rule))
    }
    return rules
  }
  return read().catch(noneIfUnsupported([]))
}

/** @throws {StoreError} when the store does not answer */
export async function historyOf(limiter: Limiter, of?: Subject | string): Promise<readonly HistoryAnswer[]> {
  const records = await limiter
    .ruleLog(of === undefined ? {} : { of })
    .catch(noneIfUnsupported<readonly RuleRecord[]>([]))
  return records.slice(0, MOST_CHANGES).map((record) => ({
    ...termsOf(record),
    ...{ kind: record.kind, action: record.action, at: record.at.toISOString() },
  }))
}

function toRule(rule: Rule): RuleAnswer {
  const kind = rule.kind as RuleAnswer['kind']
  return { kind, ...termsOf(rule), ...(rule.setAt && { setAt: rule.setAt.toISOString() }) }
}

const TERMS = ['by', 'reason', 'level', 'factor', 'concurrentFactor', 'limits', 'plan'] as const

function termsOf(rule: Omit<Rule, 'lift' | 'setAt'>): Omit<RuleAnswer, 'kind' | 'setAt'> {
  const given = TERMS.filter((name) => rule[name] !== undefined)
  const terms = Object.fromEntries(given.map((name) => [name, rule[name]]))
  return { of: rule.of, until: rule.until.toISOString(), ...terms }
}
