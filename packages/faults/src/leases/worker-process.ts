import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PlanInput } from '@tollgate/core'

export interface WorkerOptions {
  readonly port: number
  readonly plan: PlanInput
  readonly perSecond: number
  readonly deadlineMs: number
}

export type Order =
  /** `zero`: the time from which all processes count. */
  | { readonly do: 'begin'; readonly zero: string }
  | { readonly do: 'plan'; readonly plan: PlanInput }
  | { readonly do: 'reset' }
  /** As by `kill -9`, but that the record is handed over. */
  | { readonly do: 'die' }
  | { readonly do: 'end' }
  /** The record has arrived. */
  | { readonly do: 'go' }

export interface Told {
  readonly decisions: number
  readonly leased: number
  readonly skipped: number
  readonly thrown: readonly string[]
  readonly numbers: Float64Array
}

export interface LeaseWorker {
  readonly pid: number
  /** Resolves once it is connected. */
  readonly ready: Promise<unknown>
  order(order: Order): void
  /** What it reported at its end, and its exit code or signal. */
  readonly ended: Promise<{ told: Told; how: number | string }>
}

const PROGRAM = fileURLToPath(new URL('./worker.ts', import.meta.url))
const TYPESCRIPT = new URL('../typescript.mjs', import.meta.url).href

export function startLeaseWorker(options: WorkerOptions): LeaseWorker {
  const child = spawn(process.execPath, ['--import', TYPESCRIPT, PROGRAM, JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  let told: Told = {
    decisions: 0,
    leased: 0,
    skipped: 0,
    thrown: ['it reported nothing'],
    numbers: new Float64Array(0),
  }
  child.on('message', (message) => {
    if (typeof message !== 'object') return
    told = message as Told
    child.send({ do: 'go' } satisfies Order)
  })
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>
  return {
    pid: child.pid as number,
    ready: Promise.race([
      once(child, 'message'),
      exited.then(() => Promise.reject(new Error('a process ended before it began'))),
    ]),
    order: (order) => void (child.connected && child.send(order)),
    ended: exited.then(([code, signal]) => ({ told, how: code ?? signal ?? 'unknown' })),
  }
}
