// Times as people type and read them.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** The latest time that is read: scenes of the longest windows, 3000 days, end before. */
const LATEST_MS = 10_000 * 86_400_000

/** A time such as `59s`, `1.5 min` or `0`, in whole ms; undefined if it is none, or later than 10 000 days. */
export function readTime(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(ms|s|min|h|d)?$/.exec(text.trim()) ?? []
  if (count === '' || (unit === '' && Number(count) !== 0)) return undefined
  const ms = Math.round(Number(count) * (UNITS[unit] ?? 0))
  return ms <= LATEST_MS ? ms : undefined
}

/** A time in the largest unit that keeps it short: `59s`, `1.5min`, `250ms`. */
export function timeText(ms: number): string {
  const isShort = (unit: number): boolean => unit <= 1000 || Number.isInteger((ms * 10) / unit)
  const fits = Object.entries(UNITS).filter(([, unit]) => ms >= unit && isShort(unit))
  const [name, unit] = fits.at(-1) ?? ['s', 1000]
  return ms === 0 ? '0s' : `${Number((ms / unit).toFixed(3))}${name}`
}

/** A length of time in words: `1 minute`, `90 seconds`. */
export function lengthInWords(ms: number): string {
  const names = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, ms: 1 }
  const [name, unit] = Object.entries(names).find(([, one]) => ms >= one && ms % one === 0) ?? ['ms', 1]
  const count = Number((ms / unit).toFixed(3))
  return name === 'ms' || count === 1 ? `${count} ${name}` : `${count} ${name}s`
}
