// Who asks in the runs with requests in flight, and how much of it.
import type { PlanInput } from '@tollgate/core'

export const PLANS = {
  five: '5 concurrent',
  rated: { limits: ['1000/s burst 1000', '20 concurrent'] },
  group: '8 concurrent',
} satisfies Record<string, PlanInput>

export interface Place {
  readonly id: string
  readonly plan: keyof typeof PLANS
  /** How many of its requests may run at a time. */
  readonly slots: number
  /** Whether more are asked for at any time than may run, so that a slot that is free is soon taken. */
  readonly isFull: boolean
}

const five = (id: string, isFull = true): Place => ({ id, plan: 'five', slots: 5, isFull })

export const PLACES: readonly Place[] = [
  five('busy'),
  { id: 'rated', plan: 'rated', slots: 20, isFull: true },
  ...[1, 2, 3, 4].map((i) => five(`tenant-${i}`)),
  // Each request of these two asks for a slot of their group as well.
  five('user-1', false),
  five('user-2', false),
  { id: 'group', plan: 'group', slots: 8, isFull: true },
]

/** The subjects of one request, by their numbers in PLACES, and how many clients of each process send such requests. */
export interface Clients {
  readonly places: readonly number[]
  readonly count: number
}

const numberOf = (id: string): number => PLACES.findIndex((place) => place.id === id)

export const CLIENTS: readonly Clients[] = [
  { places: [numberOf('busy')], count: 4 },
  { places: [numberOf('rated')], count: 9 },
  ...[1, 2, 3, 4].map((i) => ({ places: [numberOf(`tenant-${i}`)], count: 3 })),
  ...[1, 2].map((i) => ({ places: [numberOf(`user-${i}`), numberOf('group')], count: 3 })),
]
