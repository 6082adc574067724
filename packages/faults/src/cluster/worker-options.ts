import type { Policy } from '../settings.ts'
import type { Allowed } from './judge.ts'

export interface WorkerOptions {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  readonly policy: Policy
  /** Number of workers. */
  readonly processes: number
  readonly seed: number
  readonly perSecond: number
  readonly deadlineMs: number
}

/** What a worker saw since its last message. */
export interface Batch {
  readonly allowed: Allowed[]
  /** Number of answers by source and result, such as `store allowed`. */
  readonly answers: Record<string, number>
  /** Number of errors by reason. */
  readonly storeErrors: Record<string, number>
  readonly thrown: string[]
  /** Units admitted while the store could not answer, and charged to it later. */
  charged: number
  /** Units admitted in the same way, but never charged: no limit had room, or the limiter was closed before. */
  dropped: number
}
