import type { ReferredDenial } from '@tollgate/core'
import { safeText } from '../../output/safe-text.js'
import { counted, lengthInWords, numberInWords, timeInWords } from '../../output/words.js'

/** Why a request was denied: from a reference, or the latest of a record in the log. */
export type Cause = Pick<
  ReferredDenial,
  | 'at'
  | 'reason'
  | 'plan'
  | 'limit'
  | 'limitOf'
  | 'cost'
  | 'used'
  | 'quota'
  | 'fitsAt'
  | 'source'
  | 'override'
> & { readonly subject?: string | number | undefined }

/** The same for a person, and what would have let the request pass. */
export function sentencesOf(cause: Cause, nowMs: number): readonly string[] {
  const { at, reason, subject, plan, fitsAt, source, override } = cause
  const who = subject === undefined ? 'A client' : safeText(String(subject))
  const on = plan === undefined || plan === '' ? '' : ` on the plan ${safeText(plan)}`
  const fits =
    fitsAt === null
      ? 'It would never have passed.'
      : `It would have passed from ${timeInWords(fitsAt, nowMs)} on (${lengthInWords(Math.max(0, fitsAt.getTime() - at.getTime()))} later).`
  return [
    `${who}${on} was denied at ${timeInWords(at, nowMs)}: ${causeInWords(cause)}.`,
    fits,
    ...cheaper(cause),
    ...(override ? ['A rule had changed its limits: an override, or a scaled plan.'] : []),
    `Decided by: ${SOURCES[source] ?? safeText(source)}.`,
    ...(reason === 'blocked' ? ['tollgate rules shows whether it is blocked now.'] : []),
  ]
}

/** Where a smaller request would have fit at once. */
function cheaper({ reason, cost, used, quota }: Cause): readonly string[] {
  if (reason !== 'quota-exceeded' && reason !== 'cost-exceeds-quota') return []
  const left = (quota ?? 0) - (used ?? quota ?? 0)
  return left > 0 && left < cost
    ? [`At a cost of ${numberInWords(left)} or less it would have passed at once.`]
    : []
}

function causeInWords({ reason, limit, limitOf, cost, used, quota }: Cause): string {
  const whose = limitOf === undefined ? '' : ` of ${safeText(limitOf)}`
  const name = limit === undefined ? 'a limit' : `the limit ${safeText(limit)}${whose}`
  const counts =
    used === undefined || quota === undefined
      ? ''
      : ` (${numberInWords(used)} of ${numberInWords(quota)} used, and the request costs ${counted(cost, 'unit')})`
  const causes: Readonly<Partial<Record<string, string>>> = {
    'quota-exceeded': `${name} was used up${counts}`,
    'cost-exceeds-quota': `the request costs ${counted(cost, 'unit')}, more than ${name} ever allows`,
    'store-unavailable': "Redis did not answer, and onStoreFailure is 'closed'",
    blocked: 'it was blocked, by a rule, by its plan, or after too many denials',
    overloaded: 'the process was overloaded, and sheds requests of this plan',
  }
  // A later version of Tollgate can have written another one.
  return causes[reason] ?? safeText(reason)
}

const SOURCES: Readonly<Record<string, string>> = {
  store: 'Redis',
  cache: 'the process, which repeated a denial of Redis',
  lease: 'the process, with units on lease',
  place: 'Redis, for a request that waited in line',
  local: 'the process alone, because Redis did not answer',
  closed: "the failure policy 'closed', because Redis did not answer",
  open: "the failure policy 'open'",
  rule: 'a rule that an operator set',
  blocked: "the plan, which is 'blocked'",
  unlimited: 'the plan',
  list: 'the blockList',
  shed: 'the process, because it was overloaded',
}
