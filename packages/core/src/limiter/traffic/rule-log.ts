import { givenOf } from '../../base/options.js'
import { randomText } from '../../base/platform.js'
import { readTerms, type Rule, type RuleTerms, toText } from '../../features/rules/rule.js'
import type { RuleChanged } from '../../features/rules/rules.js'
import type { Note } from '../../stores/board.js'
import { isTime } from './denial-log.js'

const FORMAT = 1

/** A rule that was set, replaced or lifted. */
export interface RuleRecord extends Omit<Rule, 'lift' | 'setAt'> {
  /** When, by the store's clock. `by` and `reason` say who did it, and why. */
  readonly at: Date
  readonly action: RuleChanged['action']
}

export function toRuleNote({ action, rule, by, reason }: RuleChanged, atMs: number): Note {
  const { until, level, setAt: _, ...terms } = rule
  const text = toText({ ...terms, by, reason } as RuleTerms)
  return { id: randomText(9), text: JSON.stringify([FORMAT, action, atMs, until.getTime(), level, text]) }
}

/** The record of a note; undefined if another version wrote it. */
export function readRuleRecord({ text }: Note): RuleRecord | undefined {
  try {
    const [format, action, at, until, level, terms] = JSON.parse(text) as Written
    const read = readTerms({ text: terms })
    const isRead = (action === 'set' || action === 'lifted') && isTime(at) && isTime(until)
    if (format !== FORMAT || !read || !isRead || (level !== null && typeof level !== 'number'))
      return undefined
    const times = { at: new Date(at), until: new Date(until) }
    return { action, ...read, ...times, ...givenOf({ level: level ?? undefined }) }
  } catch {
    return undefined
  }
}

type Written = [number, RuleRecord['action'], number, number, number | null, string]
