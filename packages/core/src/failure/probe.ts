import { compileLimits } from '../plans/limit-set.js'
import { parseLimit } from '../plans/limit.js'

/** What a probe takes a unit of; its key is gone a second later. */
export const PROBE_SET = compileLimits([
  parseLimit({ quota: 1_000_000, window: '1s', algorithm: 'fixed-window' }, 'probe'),
])

const MOST_TRIES = 10_000

/** A key that no subject has, in the partition that is asked for. */
export function findProbeKey(partition: number, partitionOf: ((key: string) => number) | undefined): string {
  const keyOf = (i: number): string => `{${i}}:!probe`
  let i = 0
  while (partitionOf && partitionOf(keyOf(i)) !== partition && i < MOST_TRIES) i += 1
  return keyOf(i)
}
