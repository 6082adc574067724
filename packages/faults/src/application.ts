import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Fault, Target } from './faults/scene.ts'
import { BUYING, DEADLINE_MS, TENANTS, type Framework, type Policy } from './settings.ts'
import { clientOf, planOf, type StoreUnderTest } from './stores/store.ts'

/** A request, as the application saw it. */
export interface Entry {
  /** A tenant, or one of CONTROLS, which are not limited. */
  readonly who: string
  /** Start of the request, in ms of the clock that all processes share. */
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
  /** Subjects that the store lost while they still counted, as the limiter reported. */
  readonly evicted: number
  /** Of top-ups; left out for a store without them. */
  readonly booked?: Booked
}

/** What became of top-ups. */
export interface Booked {
  /** Orders that were sent, and those of them that were answered. */
  readonly sent: number
  readonly answered: number
  /** Orders that counted again when they were repeated. */
  readonly countedAgain: number
  /** What the store has of them at the end; undefined if it does not answer. */
  readonly units?: number
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
/** The limit that top-ups are for. */
const TOPPED_UP = 'hour'
const PROGRAM = fileURLToPath(new URL('./app/main.mjs', import.meta.url))

/** What runs: every combination of a whole run is one. */
export interface Case {
  readonly store: StoreUnderTest
  readonly fault: Fault
  readonly framework: Framework
  readonly policy: Policy
}

export async function startApplication(
  { store, fault, framework, policy }: Case,
  target: Target,
): Promise<Application> {
  const plans = Object.entries(store.plans).map(([name, { quota, windowMs, lease, topUp }]) => {
    if (topUp) return [name, { quota, window: windowMs, algorithm: 'fixed-window', name: TOPPED_UP }]
    const limits = `${quota}/${windowMs}ms`
    return [name, lease ? { limits, lease } : limits]
  })
  const units = planOf(store, BUYING)?.topUp
  const buyer = { id: BUYING, plan: TENANTS[BUYING]?.plan }
  const topUps = units && { subject: buyer, limit: TOPPED_UP, units }
  const limiter = {
    plans: Object.fromEntries(plans),
    defaultPlan: 'small',
    onStoreFailure: policy,
    deadlineMs: DEADLINE_MS,
  }
  const plansOf = Object.fromEntries(Object.entries(TENANTS).map(([name, { plan }]) => [name, plan]))
  const reached = { name: store.name, client: clientOf(store, fault, framework), target }
  const options = JSON.stringify({ framework, store: reached, limiter, planOf: plansOf, topUps })
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
  const report = (await told) ?? { entries: [], breaker: [], storeErrors: {}, evicted: 0 }
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
