import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Target } from './faults.ts'
import {
  CLIENT_OF,
  DEADLINE_MS,
  LEASED,
  QUOTA_OF,
  TENANTS,
  windowOf,
  type Framework,
  type Policy,
} from './settings.ts'

/** A request, as the application saw it. */
export interface Entry {
  /** A tenant, or one of CONTROLS, which are not limited. */
  readonly who: string
  /** Start of the request, in ms since 1970. */
  readonly at: number
  /** How long its answer took, in ms. */
  readonly ms: number
  readonly status: number
  /** What decided; empty if the request was denied. */
  readonly source: string
}

export interface BreakerChange {
  readonly at: number
  readonly state: 'open' | 'half-open' | 'closed'
}

export interface Report {
  readonly entries: readonly Entry[]
  readonly breaker: readonly BreakerChange[]
  /** The number of errors by code. */
  readonly storeErrors: Readonly<Record<string, number>>
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  /** False if it had to be killed. */
  readonly isByItself: boolean
  readonly stderr: string
}

export interface Application {
  readonly port: number
  readonly hasBreaker: boolean
  /** Stops it. Resolves to its report, which is empty after a crash, and to how it ended. */
  stop(): Promise<{ report: Report; exit: Exit }>
}

const STARTS_WITHIN_MS = 30_000
/** In ms. ioredis waits 2 s for a connection to a server that hangs; a slow machine needs more. */
const ENDS_WITHIN_MS = 15_000
const PROGRAM = fileURLToPath(new URL('./app/main.mjs', import.meta.url))

export async function startApplication(
  framework: Framework,
  policy: Policy,
  target: Target,
): Promise<Application> {
  const client = { module: CLIENT_OF[framework], ...target }
  const plans = Object.entries(QUOTA_OF).map(([name, quota]) => {
    const limits = `${quota}/${windowOf(name)}ms`
    return [name, name === LEASED ? { limits, lease: true } : limits]
  })
  const limiter = {
    plans: Object.fromEntries(plans),
    defaultPlan: 'small',
    onStoreFailure: policy,
    deadlineMs: DEADLINE_MS,
  }
  const planOf = Object.fromEntries(Object.entries(TENANTS).map(([name, { plan }]) => [name, plan]))
  const options = JSON.stringify({ framework, client, limiter, planOf })
  const child = spawn(process.execPath, [PROGRAM, options], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>
  const started = await firstMessage<{ port: number; hasBreaker: boolean }>(child, STARTS_WITHIN_MS)
  if (!started) {
    child.kill('SIGKILL')
    throw new Error(`the application did not start:\n${stderr}`)
  }
  return { ...started, stop: () => end(child, exited, () => stderr) }
}

async function end(
  child: ChildProcess,
  exited: Promise<[number | null, string | null]>,
  stderr: () => string,
): Promise<{ report: Report; exit: Exit }> {
  const told = firstMessage<Report>(child, ENDS_WITHIN_MS)
  if (child.connected) child.send('stop')
  const report = (await told) ?? { entries: [], breaker: [], storeErrors: {} }
  const isByItself = await Promise.race([
    exited.then(() => true),
    sleep(ENDS_WITHIN_MS, false, { ref: false }),
  ])
  if (!isByItself) child.kill('SIGKILL')
  const [code, signal] = await exited
  return { report, exit: { code, signal, isByItself, stderr: stderr() } }
}

/** The first message of a process; undefined if the process ends or the time is over before. */
async function firstMessage<T>(child: ChildProcess, withinMs: number): Promise<T | undefined> {
  if (!child.connected) return undefined
  const timeout = new AbortController()
  try {
    return await Promise.race([
      new Promise<T>((resolve) => child.once('message', resolve as (message: unknown) => void)),
      new Promise<undefined>((resolve) => child.once('disconnect', () => resolve(undefined))),
      sleep(withinMs, undefined, { signal: timeout.signal }),
    ])
  } finally {
    timeout.abort()
  }
}
