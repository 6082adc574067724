/** How far local time is ahead of UTC at an instant, in ms. */
export type OffsetAt = (instantMs: number) => number

export interface Zone {
  readonly offsetAt: OffsetAt
  /** By how much its clocks ever go back at once. */
  readonly setBackMs: number
  /** Whether they only ever move by whole hours. */
  readonly movesByHours: boolean
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** Whether this runtime knows the time zone, an IANA name such as `Europe/Berlin`. Never throws. */
export function isTimeZone(name: string): boolean {
  // Intl takes undefined for the zone of the machine, which differs from server to server.
  if (typeof name !== 'string') return false
  try {
    return Boolean(zoneOf(name))
  } catch {
    return false
  }
}

/** What Intl makes of a zone takes it milliseconds and kilobytes, and plans from a database come by the thousand. */
const zones = new Map<string, Zone>()

/** @throws RangeError when the runtime does not know the zone */
export function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone)
  if (!zone) {
    const offsetAt = offsetsOf(timeZone)
    zone = { offsetAt, ...changesOf(offsetAt) }
    zones.set(timeZone, zone)
  }
  return zone
}

/** Looks at the offsets of a zone once a season, 1970 to 2100. */
function changesOf(offsetAt: OffsetAt): Omit<Zone, 'offsetAt'> {
  let last = offsetAt(0)
  // Another server may know a newer law than this one, so a zone at rest is granted an hour too.
  let setBackMs = HOUR
  let movesByHours = true
  for (let instantMs = 0; instantMs < Date.UTC(2101, 0); instantMs += 90 * DAY) {
    const offset = offsetAt(instantMs)
    setBackMs = Math.max(setBackMs, last - offset)
    movesByHours &&= (last - offset) % HOUR === 0
    last = offset
  }
  return { setBackMs, movesByHours }
}

/** Asking Intl for the offset alone is a quarter faster than asking for the wall clock. */
function offsetsOf(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', timeZoneName: 'longOffset' })
  return (instantMs) => {
    const [, sign, hours, minutes, seconds = '0'] = OFFSET.exec(format.format(instantMs)) ?? []
    if (sign === undefined) return 0
    const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
    return sign === '-' ? -ms : ms
  }
}
