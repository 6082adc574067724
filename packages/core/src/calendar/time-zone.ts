import { UNIT_MS } from '../base/duration.js'

/** How far local time is ahead of UTC at an instant, in ms. */
export type OffsetAt = (instantMs: number) => number

export interface Zone {
  readonly offsetAt: OffsetAt
  /** The largest step by which its clocks are ever set back, in ms. */
  readonly setBackMs: number
  /** Whether its clocks only ever move by whole hours. */
  readonly movesByHours: boolean
  /** Equal for zones whose clocks agree, under any name: `UTC`, `utc` and `Etc/GMT`. */
  readonly clockId: number
  /** Equal for zones whose clocks show the same minutes, such as all zones that are whole hours from UTC. */
  readonly minutesId: number
}

const { h: HOUR, d: DAY } = UNIT_MS

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** Whether this runtime knows the time zone, an IANA name such as `Europe/Berlin`. Never throws. */
export function isTimeZone(name: string): boolean {
  // For undefined, Intl takes the zone of the machine, which differs from server to server.
  if (typeof name !== 'string') return false
  try {
    return Boolean(zoneOf(name))
  } catch {
    return false
  }
}

/** Cached: a zone costs Intl milliseconds and kilobytes, and plans from a database can name one thousands of times. */
const zones = new Map<string, Zone>()
/** There are about 600 zones, but every spelling in upper and lower case is an entry of its own. */
const MOST_ZONES = 2000

/** @throws RangeError when the runtime does not know the zone */
export function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone)
  if (!zone) {
    const offsetAt = offsetsOf(timeZone)
    zone = { offsetAt, ...changesOf(offsetAt), ...idsOf(offsetAt) }
    if (zones.size >= MOST_ZONES) zones.clear()
    zones.set(timeZone, zone)
  }
  return zone
}

/** Samples the offsets of a zone every 90 days, from 1970 to 2100. */
function changesOf(offsetAt: OffsetAt): Pick<Zone, 'setBackMs' | 'movesByHours'> {
  let last = offsetAt(0)
  // At least an hour for every zone: another server may know a newer law that introduces daylight saving there.
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

/** Every Node that Tollgate supports knows the same rules for these years. Laws for later years still change. */
const SETTLED = [Date.UTC(2005, 0), Date.UTC(2022, 0)] as const

/**
 * Two hashes of the clock's offsets, week by week. They do not contain the zone's name: versions of Node differ in the
 * name that Intl calls canonical (`Asia/Calcutta`, then `Asia/Kolkata`), and all servers of a fleet must agree on the
 * id. Two zones that differ only after these years share an id; when a plan moves from one to the other, used units
 * still count.
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

/** One step of FNV-1a, over whole numbers in place of bytes. */
function mix(sum: number, value: number): number {
  return Math.imul(sum ^ value, 0x01000193) >>> 0
}

/** Asks Intl for the offset alone: a quarter faster than asking for the wall clock. */
function offsetsOf(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', timeZoneName: 'longOffset' })
  return (instantMs) => {
    const [, sign, hours, minutes, seconds = '0'] = OFFSET.exec(format.format(instantMs)) ?? []
    if (sign === undefined) return 0
    const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
    return sign === '-' ? -ms : ms
  }
}
