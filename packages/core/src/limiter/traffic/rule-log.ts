import { givenOf } from '../../base/options.js'
import { randomText } from '../../base/platform.js'
import { readTerms, type Rule, type RuleTerms, toText } from '../../features/rules/rule.js'
import type { RuleChanged } from '../../features/rules/rules.js'
import type { Note } from '../../stores/board.js'
import { isTime } from './denial-log.js'

const FORMAT = 2

/** A rule that was set, replaced or lifted. */
export interface RuleRecord extends Omit<Rule, 'lift' | 'setAt'> {
  /** When, by the store's clock. `by` and `reason` say who did it, and why. */
  readonly at: Date
  readonly action: RuleChanged['action']
}

/** @param what the key of whom the rule is about */
export function toRuleNote({ action, rule, by, reason }: RuleChanged, what: string, atMs: number): Note {
  const { until, level, setAt: _, ...terms } = rule
  const text = toText({ ...terms, by, reason } as RuleTerms)
  return {
    id: randomText(9),
    text: JSON.stringify([FORMAT, what, action, atMs, until.getTime(), level, text]),
  }
}

/** The record of a note, and the key of whom it is about; undefined if another version wrote it. */
export function readRuleNote({
  text,
}: Note): { readonly what: string; readonly record: RuleRecord } | undefined {
  try {
    const [format, what, action, at, until, level, terms] = JSON.parse(text) as Written
    const read = readTerms({ text: terms })
    const isRead = (action === 'set' || action === 'lifted') && isTime(at) && isTime(until)
    if (
      format !== FORMAT ||
      typeof what !== 'string' ||
      !read ||
      !isRead ||
      (level !== null && typeof level !== 'number')
    )
      return undefined
    const times = { at: new Date(at), until: new Date(until) }
    return { what, record: { action, ...read, ...times, ...givenOf({ level: level ?? undefined }) } }
  } catch {
    return undefined
  }
}

type Written = [number, string, RuleRecord['action'], number, number, number | null, string]
