import {
  implementations,
  type AlgorithmName,
  type ChargeRequest,
  type ChargedPart,
  type ConsumeRequest,
  type Outcome,
  type SubRequest,
  type UpToRequest,
} from '@tollgate/core/store'

/** The algorithms that count units in time. The others count requests in flight. */
export const windowAlgorithms = (Object.keys(implementations) as AlgorithmName[]).filter(
  (name) => !implementations[name].inFlight,
)

/** Whether windows can have any length. A calendar window, whose public name is fixed-window, cannot. */
export function hasAnyWindow(algorithm: AlgorithmName): boolean {
  return implementations[algorithm].name === algorithm
}

export function all(...parts: readonly SubRequest[]): ConsumeRequest {
  return { shard: 0, parts, grant: 'all' }
}

export function upTo(...parts: readonly SubRequest[]): UpToRequest {
  return { shard: 0, parts, grant: 'upTo' }
}

export function force(parts: readonly ChargedPart[], id?: string): ChargeRequest {
  return { shard: 0, parts, grant: 'force', id }
}

export function remainingOf({ limits }: Outcome): number[] {
  return limits.map(({ remaining }) => remaining)
}

export function grantedOf({ limits }: Outcome): (number | undefined)[] {
  return limits.map(({ granted }) => granted)
}

export function isTaken({ limits }: Outcome): boolean {
  return limits.every(({ wait }) => wait === 0)
}

/** For each outcome, whether it was allowed. */
export function taken(outcomes: readonly Outcome[]): boolean[] {
  return outcomes.map(isTaken)
}

/** What an outcome gave of each limit, and what it says is left. */
export function given(outcome: Outcome | undefined): unknown[] {
  return [grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)]
}
