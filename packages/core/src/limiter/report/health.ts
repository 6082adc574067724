import type { BreakerState } from '../../failure/guard/breaker.js'
import type { LimiterHealth } from './stats.js'

/** @param states the breaker of each shard that was used */
export function healthOf(
  states: Iterable<readonly [number, BreakerState]>,
  isClosed: boolean,
): LimiterHealth {
  const open = [...states].flatMap(([shard, state]) => (state === 'closed' ? [] : [shard]))
  const status = isClosed ? 'closed' : open.length > 0 ? 'degraded' : 'ok'
  return { status, openShards: open.toSorted((a, b) => a - b) }
}
