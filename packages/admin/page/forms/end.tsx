import type { VNode } from 'preact'
import { timeText } from '../words.ts'
import { Choice, Field } from './fields.tsx'

const LENGTHS = { '1h': 3_600_000, '1d': 86_400_000, '7d': 604_800_000 } as const

export interface End {
  readonly choice: keyof typeof LENGTHS | 'until'
  /** As a field of date and time has it: local, without a zone. */
  readonly until: string
}

const OPTIONS = [
  ['1h', '1 hour'],
  ['1d', '1 day'],
  ['7d', '7 days'],
  ['until', 'Until…'],
] as const

function localText(ms: number): string {
  const date = new Date(ms)
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function firstEnd(): End {
  return { choice: '1h', until: localText(Date.now() + 4 * 3_600_000) }
}

function msOf({ choice, until }: End): number {
  return choice === 'until' ? Date.parse(until) : Date.now() + LENGTHS[choice]
}

/** undefined: it is not in the future. */
export function bodyOf(end: End): { readonly for: string } | { readonly until: string } | undefined {
  if (end.choice !== 'until') return { for: end.choice }
  const ms = msOf(end)
  return ms > Date.now() ? { until: new Date(ms).toISOString() } : undefined
}

/** Such as `until 15:03`. */
export function untilText(end: End): string {
  const ms = msOf(end)
  return Number.isNaN(ms) ? 'until a time to be chosen' : `until ${timeText(ms)}`
}

/** Such as `for 1 hour`. */
export function forText(end: End): string {
  const option = OPTIONS.find(([choice]) => choice === end.choice)
  return end.choice === 'until' || !option ? untilText(end) : `for ${option[1]}`
}

interface Given {
  readonly end: End
  readonly set: (end: End) => void
}

export function EndField({ end, set }: Given): VNode {
  return (
    <>
      <Choice legend="For" value={end.choice} set={(choice) => set({ ...end, choice })} options={OPTIONS} />
      {end.choice === 'until' && (
        <Field label="Until, in your time">
          {(id) => (
            <input
              id={id}
              type="datetime-local"
              required
              min={localText(Date.now())}
              value={end.until}
              onInput={({ currentTarget }) => set({ ...end, until: currentTarget.value })}
            />
          )}
        </Field>
      )}
    </>
  )
}
