import type { LimitAnswer } from '../src/answers.ts'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const fullClock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

export function numberText(value: number): string {
  return whole.format(value)
}

/** With one digit behind the point while it is small. */
export function rateText(value: number): string {
  return Math.abs(value) < 10 ? fine.format(value) : whole.format(value)
}

export function shareText(share: number): string {
  if (share > 0 && share < 0.001) return '<0.1%'
  return `${share < 0.1 ? fine.format(share * 100) : whole.format(share * 100)}%`
}

export function latencyText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  return ms < 10 ? `${fine.format(ms)} ms` : `${whole.format(ms)} ms`
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** Such as `4 min 10 s`: its two largest units. */
export function durationText(ms: number): string {
  let seconds = Math.max(Math.ceil(ms / 1000), 0)
  const at = UNITS.findIndex(([, length]) => seconds >= length)
  if (at < 0) return '0 s'
  const said = UNITS.slice(at, at + 2).flatMap(([unit, length]) => {
    const count = Math.floor(seconds / length)
    seconds -= count * length
    return count > 0 ? [`${count} ${unit}`] : []
  })
  return said.join(' ')
}

const PER: Readonly<Record<number, string>> = {
  1_000: 'second',
  60_000: 'minute',
  3_600_000: 'hour',
  86_400_000: 'day',
  604_800_000: 'week',
}

function windowText(windowMs: number): string {
  const days = windowMs / 86_400_000
  if (days >= 28 && days <= 31) return 'month'
  return PER[windowMs] ?? durationText(windowMs)
}

/** Such as `3,000 per minute` or `5 at once`. */
export function limitText({ quota, windowMs, quotaUnit, burst, overage }: LimitAnswer): string {
  if (quotaUnit === 'concurrent-requests') return `${numberText(quota)} at once`
  const more = `${burst === undefined ? '' : `, bursts of ${numberText(burst)}`}${overage ? ', then overage' : ''}`
  return `${numberText(quota)} per ${windowText(windowMs)}${more}`
}

function isToday(date: Date): boolean {
  return date.toDateString() === new Date().toDateString()
}

/** Local, with the day if that is not today. */
export function timeText(at: string | number, hasSeconds = false): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return String(at)
  const time = (hasSeconds ? fullClock : clock).format(date)
  return isToday(date) ? time : `${day.format(date)}, ${time}`
}

/** A sentence of the server, whose times are in UTC, with those of this browser. */
export function localText(sentence: string): string {
  return sentence.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/g, (_, date: string, time: string) =>
    timeText(`${date}T${time}Z`),
  )
}

export function clockText(ms: number): string {
  return clock.format(ms)
}

export function utcText(at: string | number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? '' : `${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`
}

/** Signs that nobody sees, or that turn the text around, but not the joiner between two emoji; and halves of signs. */
const UNSEEN =
  /\p{Cc}|[\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|\p{Surrogate}/gu

/** An id as it can be shown, such as `a\u202eb`. What stands for a sign is read from left to right within any script. */
export function shownText(id: string): string {
  return id.replace(UNSEEN, (one) => `\u2066\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}\u2069`)
}

const letters = new Intl.Segmenter('en')

const PLAIN = /^[ -~]*$/

/** An id within a sentence: cut, and kept from turning the text around it. */
export function shortText(id: string, most = 32): string {
  const shown = shownText(id)
  const parts = shown.length > most ? Array.from(letters.segment(shown), ({ segment }) => segment) : []
  const short = parts.length > most ? `${parts.slice(0, most - 1).join('')}…` : shown
  return PLAIN.test(shown) ? short : `\u2068${short}\u2069`
}

export function capitalText(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function listText(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

const REASONS: Readonly<Record<string, string>> = {
  'quota-exceeded': 'a limit is used up',
  'cost-exceeds-quota': 'it costs more than a limit ever allows',
  'store-unavailable': 'the store did not answer',
  blocked: 'the customer is blocked',
  overloaded: 'this process was overloaded',
}

export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('-', ' ')
}

const SOURCES: Readonly<Record<string, string>> = {
  store: 'store',
  cache: 'memory',
  lease: 'lease',
  place: 'queue',
  local: 'local share',
  open: 'let through',
  closed: 'refused unasked',
  blocked: 'block',
  rule: 'rule',
  list: 'list',
  unlimited: 'unlimited',
  shed: 'shed',
}

export function sourceText(source: string): string {
  return SOURCES[source] ?? source
}
