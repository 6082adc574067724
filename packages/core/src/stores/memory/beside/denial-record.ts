import type { BlockTerms } from '../../../plans/limit/limit-set.js'
import type { BlockOutcome, DenialTally } from '../../blocks.js'

/** The denials of a subject and its block. Times are in µs. */
export interface DenialRecord {
  /** When the block ends; 0 if there was none. */
  readonly freeAtUs: number
  /** How many blocks there were that still make the next one longer. */
  readonly level: number
  /** The denials that count now, and when the first of them was. */
  readonly count: number
  readonly firstUs: number
  /** When nothing of it counts any more, in whole seconds since 1970. */
  readonly endsS: number
  /** How many denials of each process's tally were counted, the latest first. */
  readonly tallies: readonly CountedTally[]
}

type CountedTally = Pick<DenialTally, 'by' | 'number' | 'total'>

const [MOST_TALLIES, MOST_LEVEL, MOST_DENIALS, LAST_END] = [16, 255, 1_000_000, 2 ** 32 - 1]

const NO_DENIALS: DenialRecord = { freeAtUs: 0, level: 0, count: 0, firstUs: 0, endsS: 0, tallies: [] }

/** The record, unless nothing of it counts any more. */
export function livingRecord(record: DenialRecord | undefined, now: number): DenialRecord | undefined {
  return record && endOfRecord(record) > now ? record : undefined
}

/** When a record ends, in µs: its second has passed then. */
export function endOfRecord({ endsS }: DenialRecord): number {
  return (endsS + 1) * 1_000_000
}

/**
 * Counts denials, and blocks the subject if they are enough. The twin of blocks.lua in stores/redis/scripts/beside: change both, law 5
 * (one truth) compares them.
 *
 * @param given how many, and when the first of them was
 */
export function countDenials(
  record: DenialRecord | undefined,
  given: { readonly denials: number; readonly firstUs: number },
  terms: BlockTerms,
  now: number,
): DenialRecord {
  return counted(currentRecord(record, terms, now), given, terms, now)
}

/**
 * Counts what a process denied from memory. Denials from before the end of a block count no more.
 *
 * @returns the same record if nothing of it was new
 */
export function countTally(
  record: DenialRecord | undefined,
  { by, number, total, ageUs }: DenialTally,
  terms: BlockTerms,
  now: number,
): DenialRecord | undefined {
  const firstUs = now - ageUs
  if ((record && firstUs < record.freeAtUs) || ageUs >= terms.withinUs) return record
  const current = currentRecord(record, terms, now)
  const known = current.tallies.find((one) => one.by === by)
  if (known && known.number > number) return record
  const denials = total - (known?.number === number ? known.total : 0)
  if (denials <= 0) return record
  const others = current.tallies.filter((one) => one !== known)
  const tallies = [{ by, number, total }, ...others].slice(0, MOST_TALLIES)
  return counted({ ...current, tallies }, { denials, firstUs }, terms, now)
}

/** The record as denials are counted in: anew if those so far are too old. */
function currentRecord(record = NO_DENIALS, { withinUs }: BlockTerms, now: number): DenialRecord {
  const isOpen = record.count > 0 && now < record.firstUs + withinUs
  return isOpen ? record : { ...record, count: 0, firstUs: 0, tallies: [] }
}

function counted(
  record: DenialRecord,
  { denials, firstUs }: { readonly denials: number; readonly firstUs: number },
  terms: BlockTerms,
  now: number,
): DenialRecord {
  const first = record.count === 0 ? firstUs : Math.min(record.firstUs, firstUs)
  const count = Math.min(record.count + denials, MOST_DENIALS)
  const made = count >= terms.denials ? blocked(record, terms, now) : { ...record, count, firstUs: first }
  const countsUntil = made.count > 0 ? made.firstUs + terms.withinUs : 0
  const levelUntil = made.level > 0 ? made.freeAtUs + longestOf(terms) : 0
  const endsS = Math.min(Math.floor(Math.max(countsUntil, levelUntil) / 1_000_000), LAST_END)
  return { ...made, endsS }
}

/**
 * Each block is as long as its place in the list says. The first comes again when the subject was not blocked for as long as the
 * longest.
 */
function blocked({ freeAtUs, level, endsS }: DenialRecord, terms: BlockTerms, now: number): DenialRecord {
  const next = Math.min((now >= freeAtUs + longestOf(terms) ? 0 : level) + 1, MOST_LEVEL)
  const lengthUs = terms.forUs[Math.min(next, terms.forUs.length) - 1] as number
  return { freeAtUs: now + lengthUs, level: next, count: 0, firstUs: 0, endsS, tallies: [] }
}

function longestOf({ forUs }: BlockTerms): number {
  return forUs.at(-1) as number
}

/** What an answer says of a block. */
export function toBlockOutcome(
  record: DenialRecord | undefined,
  isNew: boolean,
  now: number,
): BlockOutcome | undefined {
  if (!record || record.freeAtUs <= now) return undefined
  const endsInUs = record.freeAtUs - now
  return isNew ? { endsInUs, level: record.level, isNew } : { endsInUs, level: record.level }
}
