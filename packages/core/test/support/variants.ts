import { windowAlgorithms, type AlgorithmName } from '../../src/algorithms/registry.js'
import type { LimitOptions } from '../../src/index.js'

/** A way to configure an algorithm, for tests of the laws. */
export interface Variant {
  readonly name: string
  readonly algorithm: AlgorithmName
  limit(quota: number, windowMs: number): LimitOptions
  /** The most units that law 1 allows in any true window. */
  worstCase(quota: number): number
}

/** The window of the calendar variant, whatever length a test asks for. */
export const HOUR_MS = 3_600_000

export const variants: readonly Variant[] = [
  {
    name: 'sliding-log',
    algorithm: 'sliding-log',
    limit: (quota, window) => ({ quota, window, algorithm: 'sliding-log' }),
    worstCase: (quota) => quota,
  },
  {
    name: 'sliding-log with precision',
    algorithm: 'sliding-log',
    limit: (quota, window) => ({ quota, window, precision: Math.max(1, Math.floor(window / 10)) }),
    worstCase: (quota) => quota,
  },
  {
    name: 'sliding-window',
    algorithm: 'sliding-window',
    limit: (quota, window) => ({ quota, window, algorithm: 'sliding-window' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'fixed-window from the first request',
    algorithm: 'fixed-window',
    limit: (quota, window) => ({ quota, window, algorithm: 'fixed-window' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'fixed-window on the calendar',
    algorithm: 'calendar-window',
    limit: (quota) => ({ quota, window: 'h', timeZone: 'Asia/Kolkata' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'token-bucket',
    algorithm: 'token-bucket',
    limit: (quota, window) => ({ quota, window, algorithm: 'token-bucket' }),
    worstCase: (quota) => 2 * quota,
  },
  {
    name: 'token-bucket with a burst of 3',
    algorithm: 'token-bucket',
    limit: (quota, window) => ({ quota, window, burst: 3 }),
    worstCase: (quota) => quota + 3,
  },
]

export function windowOf(variant: Variant, windowMs: number): number {
  return variant.algorithm === 'calendar-window' ? HOUR_MS : windowMs
}

/** Algorithms without a variant, which no law would test. Must be empty. Billing windows come with a subject: features/billing-days. */
export const untried = windowAlgorithms.filter(
  (name) => name !== 'billing-window' && !variants.some(({ algorithm }) => algorithm === name),
)
