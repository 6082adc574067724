import { join } from 'node:path'
import type { Killed } from './judge.ts'
import type { Scene, Servers } from './troubles.ts'
import { startInFlightWorker, type Ended, type InFlightWorker, type WorkerOptions } from './worker-process.ts'

export interface CrewOptions {
  readonly servers: Servers
  /** Where processes note their runs. */
  readonly folder: string
  readonly stopMs: number
  readonly seed: number
  readonly isShort: boolean
  readonly shared: Pick<WorkerOptions, 'deadlineMs' | 'longestMs' | 'policy' | 'processes'>
}

/** The processes of a run, and those that were started for the dead. */
export class Crew implements Scene {
  readonly workers: InFlightWorker[] = []
  readonly started: InFlightWorker[] = []
  readonly servers: Servers
  readonly stopMs: number
  readonly isShort: boolean
  readonly #options: CrewOptions
  readonly #zero = process.hrtime.bigint()

  constructor(options: CrewOptions) {
    this.servers = options.servers
    this.stopMs = options.stopMs
    this.isShort = options.isShort
    this.#options = options
  }

  readonly now = (): number => Number(process.hrtime.bigint() - this.#zero) / 1000

  async begin(): Promise<void> {
    for (let i = 0; i < this.#options.shared.processes; i += 1) this.workers.push(this.#start())
    await Promise.all(this.workers.map(({ ready }) => ready))
  }

  async kill(places: readonly number[]): Promise<Killed> {
    const dead = places.map((place) => this.workers[place] as InFlightWorker)
    const at = this.now()
    for (const { pid } of dead) process.kill(pid, 'SIGKILL')
    await Promise.all(dead.map(({ ended }) => ended))
    for (const place of places) this.workers[place] = this.#start()
    await Promise.all(this.workers.map(({ ready }) => ready))
    return { at, by: dead.map(({ number }) => number) }
  }

  async end(): Promise<readonly Ended[]> {
    for (const worker of this.started) worker.end()
    return Promise.all(this.started.map(({ ended }) => ended))
  }

  stop(): void {
    for (const { pid } of this.started) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
  }

  #start(): InFlightWorker {
    const { shared, servers, folder, seed } = this.#options
    const number = this.started.length
    const worker = startInFlightWorker(number, {
      ...shared,
      target: servers.target,
      notes: join(folder, String(number)),
      zero: String(this.#zero),
      seed: seed + number,
    })
    this.started.push(worker)
    return worker
  }
}
