import type { Rule } from '@tollgate/core'
import { safeText } from '../output/safe-text.js'
import { lengthInWords, numberInWords, timeInWords } from '../output/words.js'

/** What a rule does, in few words: `block`, `override ×2`, `override: plan pro`. */
export function effectOf(
  rule: Pick<Rule, 'kind' | 'level' | 'plan' | 'limits' | 'factor' | 'concurrentFactor'>,
): string {
  const { kind, level, plan, limits, factor, concurrentFactor } = rule
  if (kind === 'block') return level === undefined ? 'block' : `block, level ${level}`
  const instead = [
    ...(plan === undefined ? [] : [`plan ${safeText(plan, 32)}`]),
    ...(limits === undefined ? [] : [limitsInWords(limits)]),
    ...(factor === undefined ? [] : [`×${numberInWords(factor)}`]),
    ...(concurrentFactor === undefined ? [] : [`×${numberInWords(concurrentFactor)} at a time`]),
  ]
  return `${kind} ${instead.join(', ')}`
}

/** Limits as they were written: `5000/min`. */
export function limitsInWords(limits: Rule['limits']): string {
  const list: readonly unknown[] = Array.isArray(limits) ? limits : [limits]
  return list.map((one) => safeText(typeof one === 'string' ? one : JSON.stringify(one), 48)).join(', ')
}

/** A rule for programs. */
export function ruleJson(rule: Rule): Readonly<Record<string, unknown>> {
  const { kind, of, until, setAt, by, reason, level, factor, concurrentFactor, limits, plan } = rule
  return { kind, of, until, setAt, by, reason, level, factor, concurrentFactor, limits, plan }
}

/** The cells of a rule in a table: RULE, OF, UNTIL, LEFT, BY, REASON. */
export function ruleCells(rule: Rule, nowMs: number): readonly string[] {
  const { until, by, reason } = rule
  const leftMs = Math.max(0, until.getTime() - nowMs)
  const end = timeInWords(until, nowMs).replace(/ UTC$/, '')
  return [
    effectOf(rule),
    safeText(rule.of),
    // Seconds matter only to who waits for the end.
    leftMs > 3_600_000 ? end.replace(/(\d:\d\d):\d\d$/, '$1') : end,
    lengthInWords(leftMs),
    rule.level === undefined ? safeText(by ?? '', 40) : 'itself',
    safeText(reason ?? '', 200),
  ]
}

export const RULE_COLUMNS = [
  { title: 'RULE', narrow: 'wrap' },
  { title: 'OF', narrow: 'cut' },
  { title: 'UNTIL (UTC)' },
  { title: 'LEFT' },
  { title: 'BY', narrow: 'cut' },
  { title: 'REASON', narrow: 'wrap' },
] as const
