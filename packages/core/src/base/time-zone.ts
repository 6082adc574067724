/** How far local time is ahead of UTC at an instant, in ms. */
export type OffsetAt = (instantMs: number) => number

export interface Zone {
  readonly offsetAt: OffsetAt
  /** By how much its clocks ever go back at once. */
  readonly setBackMs: number
  /** Whether they only ever move by whole hours. */
  readonly movesByHours: boolean
  /** The same for zones whose clocks agree, whatever they are called: `UTC`, `utc` and `Etc/GMT`. */
  readonly clockId: number
  /** The same for zones whose clocks show the same minutes, such as all that are whole hours from UTC. */
  readonly minutesId: number
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
    zone = { offsetAt, ...changesOf(offsetAt), ...idsOf(offsetAt) }
    zones.set(timeZone, zone)
  }
  return zone
}

/** Looks at the offsets of a zone once a season, 1970 to 2100. */
function changesOf(offsetAt: OffsetAt): Pick<Zone, 'setBackMs' | 'movesByHours'> {
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

/** Every Node that Tollgate runs on knows the same of these years. Of later ones laws are still being made. */
const SETTLED = [Date.UTC(2005, 0), Date.UTC(2022, 0)] as const

/**
 * Ids of what the clocks did, week by week. Not of the zone's name: the one that Intl calls canonical is another in
 * another version of Node (`Asia/Calcutta`, then `Asia/Kolkata`), and the servers of a fleet must agree. Two zones
 * that parted later share an id; units that a subject has used then still count when its plan moves to the other.
 */
function idsOf(offsetAt: OffsetAt): Pick<Zone, 'clockId' | 'minutesId'> {
  let [clockId, minutesId] = [0, 0]
  for (let instantMs: number = SETTLED[0]; instantMs < SETTLED[1]; instantMs += 7 * DAY) {
    const offset = offsetAt(instantMs)
    clockId = mix(clockId, offset)
    minutesId = mix(minutesId, (offset + DAY) % HOUR)
  }
  return { clockId, minutesId }
}

/** FNV-1a, of whole numbers in place of bytes. */
function mix(sum: number, value: number): number {
  return Math.imul(sum ^ value, 0x01000193) >>> 0
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
