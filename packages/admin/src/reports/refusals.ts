import type { DenialRecord, Limiter } from '@tollgate/core'
import type { RefusalsAnswer } from '../answers.js'
import { noneIfUnsupported } from './reason.js'

const [MINUTE_MS, MINUTES] = [60_000, 60]
/** What is rarer is shown as one. */
const MOST_CAUSES = 6
const OTHERS = 'others'

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
    // A record is of one minute by the clock of its process, which may be ahead.
    const at = Math.floor((one.last.getTime() - firstMs) / MINUTE_MS)
    const counts = minutes[Math.min(Math.max(at, 0), MINUTES - 1)]?.counts
    if (counts) counts[cause] = (counts[cause] ?? 0) + one.count
  }
  return { from: from.toISOString(), causes, minutes }
}

/** The limit or, where none denied, the reason. */
function causeOf({ limit, reason }: DenialRecord): string {
  return limit ?? reason
}
