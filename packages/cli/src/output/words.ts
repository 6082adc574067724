const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** A length of time with its two largest units: `2 d 3 h`, `59 min`, `250 ms`. */
export function lengthInWords(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  // Whole seconds first, so that 59.9999 s is a minute. Beyond an hour, seconds interest nobody.
  let rest = Math.round(ms / 1000) * 1000
  if (rest >= 3_600_000) rest = Math.round(rest / 60_000) * 60_000
  const parts: string[] = []
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length)
    rest -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
  }
  return parts.slice(0, 2).join(' ')
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A time in UTC: `Sat 28 Nov 15:00 UTC`, with seconds if it has some, and with the year if it is another than now. */
export function timeInWords(time: Date, nowMs: number): string {
  const year = time.getUTCFullYear()
  const day = `${DAYS[time.getUTCDay()]} ${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]}`
  const clock = time.toISOString().slice(11, time.getUTCSeconds() === 0 ? 16 : 19)
  return `${day}${year === new Date(nowMs).getUTCFullYear() ? '' : ` ${year}`} ${clock} UTC`
}

/** When something ends, and how long that is from now: `Sat 28 Nov 15:00 UTC (1 h)`. */
export function endInWords(time: Date, nowMs: number): string {
  return `${timeInWords(time, nowMs)} (${lengthInWords(Math.max(0, time.getTime() - nowMs))})`
}

/** A number with separators: `50,000`. */
export function numberInWords(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

const WINDOWS: Readonly<Record<number, string>> = {
  1000: 's',
  60_000: 'min',
  3_600_000: 'h',
  86_400_000: 'day',
  604_800_000: 'week',
  2_592_000_000: 'month',
  31_536_000_000: 'year',
}

/** What a limit allows: `100 per min`, `5 at a time`. */
export function quotaInWords(quota: number, windowMs: number): string {
  if (windowMs === 0) return `${numberInWords(quota)} at a time`
  return `${numberInWords(quota)} per ${WINDOWS[windowMs] ?? lengthInWords(windowMs)}`
}

/** `1 unit`, `5 units`. */
export function counted(count: number, one: string, plural = 's'): string {
  return `${numberInWords(count)} ${one}${count === 1 ? '' : plural}`
}

/** An argument as a shell reads it back. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  if (!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`
  const bytes = [...Buffer.from(text)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  )
  return `$'${bytes.join('')}'`
}
