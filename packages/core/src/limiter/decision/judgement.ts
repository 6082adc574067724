import { NEVER } from '../../algorithms/implementation.js'
import type { Verdict } from '../../requests/verdict.js'
import { NONE, RETRY_AFTER_FAILURE_MS, type DenialReason } from './decision.js'
import { limitsIn, toMs } from './told-limits.js'

const STRENGTH: Readonly<Record<Verdict['source'], number>> = {
  local: 0,
  open: 1,
  closed: 2,
  unlimited: 3,
  blocked: 3,
  store: 4,
  place: 4,
  lease: 4,
  cache: 4,
}

/** The verdict with the weakest source, by STRENGTH. All given verdicts allow the request. */
export function weakestOf(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((weakest, one) => (STRENGTH[one.source] < STRENGTH[weakest.source] ? one : weakest))
}

/** The names of the limits that denied. */
export function violatedOf(denial: Verdict): readonly string[] {
  const { outcome } = denial
  if (!outcome) return NONE
  return limitsIn(denial)
    .filter((_, i) => outcome.limits[i]?.wait !== 0)
    .map(({ name }) => name)
}

/** ms until the request fits; null when it never can. */
export function retryAfterOf({ outcome }: Verdict): number | null {
  if (!outcome) return RETRY_AFTER_FAILURE_MS
  let worst = 0
  for (const { wait } of outcome.limits) {
    if (wait === NEVER) return null
    if (wait > worst) worst = wait
  }
  return toMs(worst)
}

export function reasonOf({ source }: Verdict, retryAfterMs: number | null): DenialReason {
  if (source === 'closed') return 'store-unavailable'
  return retryAfterMs === null ? 'cost-exceeds-quota' : 'quota-exceeded'
}
