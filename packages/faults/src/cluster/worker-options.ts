import type { Policy } from '../settings.ts'
import type { Allowed } from './judge.ts'

export interface WorkerOptions {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  readonly policy: Policy
  /** The number of all workers. */
  readonly processes: number
  readonly seed: number
  readonly perSecond: number
  readonly deadlineMs: number
}

/** What a worker saw since its last message. */
export interface Batch {
  readonly allowed: Allowed[]
  /** The number of answers by source and result. */
  readonly answers: Record<string, number>
  /** Number of errors by reason. */
  readonly storeErrors: Record<string, number>
  readonly thrown: string[]
  /** Units that were allowed without the store: charged to it later, or dropped. */
  charged: number
  /** The same, but never charged, since no limit had room. */
  dropped: number
}
