import type { DenialRecord, Limiter } from '@tollgate/core'
import type { RefusalsAnswer } from '../answers.js'
import { noneIfUnsupported } from './reason.js'

const [MINUTE_MS, MINUTES] = [60_000, 60]
/** What is rarer is shown as one. */
const MOST_CAUSES = 6
const OTHERS = 'others'
/** No record of ours is of more minutes. */
const LONGEST = 65

/** @throws {StoreError} when the store does not answer */
export async function refusalsReport(limiter: Limiter): Promise<RefusalsAnswer> {
  const nowMs = Date.now()
  const firstMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - (MINUTES - 1) * MINUTE_MS
  const { from, denials } = await limiter
    .denialLog({ from: firstMs })
    .catch(noneIfUnsupported({ from: new Date(nowMs), denials: [] as readonly DenialRecord[] }))
  const totals = new Map<string, number>()
  for (const one of denials) totals.set(causeOf(one), (totals.get(causeOf(one)) ?? 0) + one.count)
  const byCount = [...totals].toSorted((a, b) => b[1] - a[1]).map(([cause]) => cause)
  const causes = byCount.length > MOST_CAUSES ? [...byCount.slice(0, MOST_CAUSES - 1), OTHERS] : byCount
  const minutes = Array.from({ length: MINUTES }, (_, i) => ({
    at: firstMs + i * MINUTE_MS,
    counts: causes.map(() => 0),
  }))
  for (const one of denials) {
    const known = causes.indexOf(causeOf(one))
    const cause = known === -1 ? causes.length - 1 : known
    for (const [at, count] of byMinute(one, firstMs)) {
      const counts = minutes[at]?.counts
      if (counts) counts[cause] = (counts[cause] ?? 0) + count
    }
  }
  return { from: from.toISOString(), causes, minutes }
}

/** A record of a subject that goes on is of several minutes, and says only how many denials there were in all. So these are spread evenly. */
function byMinute({ first, last, count }: DenialRecord, firstMs: number): [minute: number, count: number][] {
  // The clock of its process may be ahead.
  const [from, to] = [first, last].map((at) =>
    Math.min(Math.floor((at.getTime() - firstMs) / MINUTE_MS), MINUTES - 1),
  ) as [number, number]
  const minutes = Math.min(to - from + 1, LONGEST)
  return Array.from({ length: minutes }, (_, i) => [
    to - minutes + 1 + i,
    Math.floor(((i + 1) * count) / minutes) - Math.floor((i * count) / minutes),
  ])
}

/** The limit or, where none denied, the reason. */
function causeOf({ limit, reason }: DenialRecord): string {
  return limit ?? reason
}
