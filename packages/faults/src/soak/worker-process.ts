import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Policy } from '../settings.ts'

export interface WorkerOptions {
  readonly client: 'ioredis' | 'ioredis5'
  readonly port: number
  readonly policy: Policy
  /** The number of all workers. */
  readonly instances: number
  readonly seed: number
  readonly perSecond: number
}

/** What a worker saw since its last message. */
export interface Batch {
  /** Allowed requests: the tenant's number, the time span, and what decided. */
  readonly letIn: [tenant: number, from: number, to: number, source: string][]
  readonly bySource: Record<string, number>
  slowestMs: number
  /** Requests that were not sent, since too many were pending. */
  skipped: number
  readonly thrown: string[]
  /** Requests not yet decided. */
  readonly underWay: number
  /** Resident memory of the process, in bytes. */
  readonly rss: number
}

export interface Worker {
  /** Stops it. Resolves to the exit code, after its last message. */
  stop(): Promise<number | string>
}

const ENDS_WITHIN_MS = 10_000
const PROGRAM = new URL('./worker.ts', import.meta.url)
const TYPESCRIPT = new URL('../typescript.mjs', import.meta.url).href

export function startWorker(options: WorkerOptions, onBatch: (batch: Batch) => void): Worker {
  return startProcess(PROGRAM, options, onBatch)
}

/** Starts a TypeScript program with its options as the only argument. It reports by messages. */
export function startProcess<Message>(
  program: URL,
  options: object,
  onMessage: (message: Message) => void,
): Worker {
  const args = ['--import', TYPESCRIPT, fileURLToPath(program), JSON.stringify(options)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.on('message', (message) => onMessage(message as Message))
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>
  return {
    stop: async () => {
      if (child.connected) child.send('stop')
      const timer = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS)
      const [code, signal] = await exited
      clearTimeout(timer)
      return code ?? signal ?? 'unknown'
    },
  }
}
