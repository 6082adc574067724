// Clients of a process that wait in line, and clients that reserve units and commit fewer of them.
import type { Limiter } from '@tollgate/core'
import type { Random } from '@tollgate/testing/random'
import { METERS, type Use } from './metered.ts'

export interface Clients {
  readonly limiter: Limiter
  readonly random: Random
  readonly ending: AbortSignal
  /** In µs. */
  now(): number
  pause(ms: number): Promise<void>
  note(use: Use): void
  /** Counts a request from when it is sent until it is answered, and remembers what it throws. */
  ask<T>(work: () => PromiseLike<T> | T): Promise<T | undefined>
}

const EACH = { waiting: 10, reserving: 6 }
const MOST_UNITS = 50
const HOLD_MS = 2000
/** Of the reservations: those that are given back, and those that are forgotten. */
const CANCELLED = 0.2
const FORGOTTEN = 0.1
const [LINE, TOKENS] = METERS

export function startMetered(clients: Clients): Promise<void>[] {
  return [
    ...Array.from({ length: EACH.waiting }, () => waiting(clients)),
    ...Array.from({ length: EACH.reserving }, () => reserving(clients)),
  ]
}

async function waiting({ limiter, random, ending, now, pause, note, ask }: Clients): Promise<void> {
  while (!ending.aborted) {
    const from = now()
    const decision = await ask(() => limiter.consume({ id: LINE.id, plan: LINE.plan }))
    const to = now()
    // One that waited uses its units when it goes on.
    if (decision?.allowed) note({ meter: 0, units: 1, from: decision.source === 'place' ? to : from, to })
    await pause(random.between(20, 100))
  }
}

async function reserving(clients: Clients): Promise<void> {
  const { limiter, random, ending, now, pause, note, ask } = clients
  while (!ending.aborted) {
    const cost = Math.ceil(random.between(1, MOST_UNITS))
    const subject = { id: TOKENS.id, plan: TOKENS.plan }
    const held = await ask(() => limiter.reserve(subject, { cost, for: HOLD_MS }))
    // Some work takes longer than what it reserved lasts.
    await pause(random.between(1, 1.2 * HOLD_MS) * (held?.allowed ? random.next() : 0.05))
    if (!held?.allowed || random.next() < FORGOTTEN) continue
    if (random.next() < CANCELLED) {
      await ask(() => held.cancel())
      continue
    }
    const from = now()
    const units = await ask(() => held.commit(Math.floor(random.between(0, 1.2 * cost))))
    if (units) note({ meter: 1, units, from, to: now() })
  }
}
