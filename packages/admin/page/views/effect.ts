import type { HistoryAnswer, RuleAnswer } from '../../src/answers.ts'
import { limitText, listText, rateText, shortText } from '../words.ts'

function isLimit(value: unknown): value is { readonly quota: number; readonly windowMs: number } {
  return typeof value === 'object' && value !== null && 'quota' in value && 'windowMs' in value
}

function oneLimit(value: unknown): string {
  if (typeof value === 'string') return value
  if (isLimit(value)) return limitText({ name: '', ...value })
  return JSON.stringify(value)
}

export function limitsText(limits: unknown): string {
  return Array.isArray(limits) ? listText(limits.map(oneLimit)) : oneLimit(limits)
}

function timesText(factor: number): string {
  return `×${factor < 0.1 ? factor : rateText(factor)}`
}

const ordinals = new Intl.PluralRules('en', { type: 'ordinal' })
const ENDINGS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' }

function nthText(count: number): string {
  return `${count}${ENDINGS[ordinals.select(count)] ?? 'th'}`
}

/** What a rule does, in words. */
export function effectText(rule: RuleAnswer | HistoryAnswer): string {
  const { kind, factor, concurrentFactor, limits, plan, level } = rule
  if (kind === 'block') {
    return level === undefined
      ? 'Blocked: all requests are refused'
      : `Blocked by itself, for the ${nthText(level)} time`
  }
  const parts = [
    ...(kind === 'override' && plan ? [`limits of ${shortText(plan)}`] : []),
    ...(limits === undefined ? [] : [limits === 'unlimited' ? 'no limit' : `limits ${limitsText(limits)}`]),
    ...(factor === undefined || factor === 1 ? [] : [`limits ${timesText(factor)}`]),
    ...(concurrentFactor === undefined || concurrentFactor === 1
      ? []
      : [`requests in flight ${timesText(concurrentFactor)}`]),
  ]
  const name = NAMES[kind] ?? kind
  return parts.length > 0 ? `${name}: ${parts.join(', ')}` : name
}

const NAMES: Readonly<Record<string, string>> = {
  override: 'Override',
  scale: 'Plan scaled',
  topUp: 'Topped up',
  renew: 'Renewed',
  reset: 'Reset',
  forgetPlan: 'Plan forgotten',
}
