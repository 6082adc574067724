import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FailurePolicy } from '@tollgate/core'

/** One server, or what sentinels call a primary. */
export type Target = { port: number } | { sentinels: { host: string; port: number }[]; name: string }

export interface WorkerOptions {
  readonly target: Target
  readonly policy: FailurePolicy
  readonly processes: number
  readonly deadlineMs: number
  /** Where runs are noted. */
  readonly notes: string
  /** The time from which all processes count. */
  readonly zero: string
  readonly seed: number
  /** How long the longest requests run. */
  readonly longestMs: number
}

export interface Told {
  readonly decisions: number
  readonly admitted: number
  readonly byPolicy: number
  /** The longest that a decision took. */
  readonly longestMs: number
  /** Requests that were never answered. */
  readonly unanswered: number
  /** Slots that were reported again after the store had lost them. */
  readonly declaredAgain: number
  readonly thrown: readonly string[]
}

/** What a process reported at its end, if it did, and its exit code or signal. */
export interface Ended {
  readonly told: Told | undefined
  readonly how: number | string
}

export interface InFlightWorker {
  readonly pid: number
  readonly number: number
  readonly notes: string
  /** Resolves once it is connected. */
  readonly ready: Promise<unknown>
  /** Makes it end its runs, and then itself. */
  end(): void
  readonly ended: Promise<Ended>
}

const PROGRAM = fileURLToPath(new URL('./worker.ts', import.meta.url))
const TYPESCRIPT = new URL('../typescript.mjs', import.meta.url).href

export function startInFlightWorker(number: number, options: WorkerOptions): InFlightWorker {
  const child = spawn(process.execPath, ['--import', TYPESCRIPT, PROGRAM, JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let told: Told | undefined
  child.on('message', (message) => {
    if (typeof message === 'object') told = message as Told
  })
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>
  return {
    pid: child.pid as number,
    number,
    notes: options.notes,
    ready: Promise.race([
      once(child, 'message'),
      exited.then(() => Promise.reject(new Error('a process ended before it began'))),
    ]),
    end: () => void (child.connected && child.send('end')),
    ended: exited.then(([code, signal]) => ({ told, how: code ?? signal ?? 'unknown' })),
  }
}
