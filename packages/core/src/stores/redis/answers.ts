import { OUTSIDE_CALENDAR } from '../../algorithms/implementation.js'
import { StoreError } from '../../base/errors.js'
import type { Answer, LimitOutcome, StoreRequest } from '../contract.js'
import { requestErrorOf } from './replies.js'

export function isOutsideCalendar(answer: Answer): boolean {
  return 'limits' in answer && answer.limits.some(({ wait }) => wait === OUTSIDE_CALENDAR)
}

export function readReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply) && reply.length > 0) return reply
  throw new StoreError('Redis answered the script with something that is not a list', { reason: 'protocol' })
}

export function readAnswers(batch: readonly StoreRequest[], reply: readonly unknown[]): Answer[] {
  const at = Number(reply[0])
  let next = 1
  const readLimit = (): LimitOutcome => {
    const outcome = {
      wait: Number(reply[next]),
      remaining: Number(reply[next + 1]),
      reset: Number(reply[next + 2]),
    }
    next += 3
    return outcome
  }
  return batch.map((request) => {
    const error = errorIn(reply[next])
    if (error) {
      next += 1
      return error
    }
    const limits = request.set.limits.map(readLimit)
    for (const { set } of request.also ?? []) limits.push(...set.limits.map(readLimit))
    return { at, limits }
  })
}

/** A request that could not be decided has its error text in place of its numbers. */
export function errorIn(value: unknown): StoreError | undefined {
  if (typeof value === 'number') return undefined
  // Clients can be told to answer numbers as strings, big integers or buffers.
  const text = String(value)
  return /^-?\d+$/.test(text) ? undefined : requestErrorOf(text)
}
