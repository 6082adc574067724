import { implementations, type AlgorithmName } from '../../src/algorithms/registry.js'
import type { LimitOptions } from '../../src/index.js'

/** A way to configure an algorithm, and what of it the laws speak. */
export interface Variant {
  readonly name: string
  readonly kernel: AlgorithmName
  limit(quota: number, windowMs: number): LimitOptions
  /** The most units that any window of the length may hold. */
  worstCase(quota: number): number
}

/** Calendar windows have lengths of their own. */
export const HOUR_MS = 3_600_000

export const variants: readonly Variant[] = [
  {
    name: 'sliding-log',
    kernel: 'sliding-log',
    limit: (quota, window) => ({ quota, window, algorithm: 'sliding-log' }),
    worstCase: (quota) => quota,
  },
  {
    name: 'sliding-log with precision',
    kernel: 'sliding-log',
    limit: (quota, window) => ({ quota, window, precision: Math.max(1, Math.floor(window / 10)) }),
    worstCase: (quota) => quota,
  },
  {
    name: 'sliding-window',
    kernel: 'sliding-window',
    limit: (quota, window) => ({ quota, window, algorithm: 'sliding-window' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'fixed-window from the first request',
    kernel: 'fixed-window',
    limit: (quota, window) => ({ quota, window, algorithm: 'fixed-window' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'fixed-window on the calendar',
    kernel: 'calendar-window',
    limit: (quota) => ({ quota, window: 'h', timeZone: 'Asia/Kolkata' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'token-bucket',
    kernel: 'token-bucket',
    limit: (quota, window) => ({ quota, window, algorithm: 'token-bucket' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'token-bucket with a burst of 3',
    kernel: 'token-bucket',
    limit: (quota, window) => ({ quota, window, burst: 3 }),
    worstCase: (quota) => quota + 3,
  },
]

export function windowOf(variant: Variant, windowMs: number): number {
  return variant.kernel === 'calendar-window' ? HOUR_MS : windowMs
}

/** A new algorithm that no variant tries would be one that no law holds for. */
export const untried = Object.keys(implementations).filter(
  (name) => !variants.some(({ kernel }) => kernel === name),
)
