import type { Policy } from '../settings.ts'
import type { Allowed } from './judge.ts'

export interface WorkerOptions {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  readonly policy: Policy
  /** Of all workers. */
  readonly processes: number
  readonly seed: number
  readonly perSecond: number
  readonly deadlineMs: number
}

/** What a worker saw since it last told. */
export interface Batch {
  readonly allowed: Allowed[]
  /** How often by what decided, and how. */
  readonly answers: Record<string, number>
  readonly storeErrors: Record<string, number>
  readonly thrown: string[]
  /** Units of what was let in beside the store: told to it, and not. */
  charged: number
  dropped: number
}
