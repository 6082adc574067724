import { OUTSIDE_CALENDAR } from '../../algorithms/implementation.js'
import { StoreError } from '../../base/errors.js'
import type { Answer, LimitOutcome, RefundAnswer, StoreRequest } from '../contract.js'
import { requestErrorOf } from './replies.js'

/**
 * Stands in for an answer when the calendar that was sent does not include Redis's time. Nothing was taken or changed.
 */
export const OUTSIDE = Symbol('outside the calendar')

export function readReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply) && reply.length > 0) return reply
  throw new StoreError(
    'Redis answered the script with something that is not a list: check that it is Redis 6.2 or newer, or Valkey',
    { reason: 'protocol' },
  )
}

export function readAnswers(
  batch: readonly StoreRequest[],
  reply: readonly unknown[],
): (Answer | typeof OUTSIDE)[] {
  const at = Number(reply[0])
  let next = 1
  const take = (): number => Number(reply[next++])
  return batch.map(({ parts, grant }) => {
    const error = errorIn(reply[next])
    if (error) {
      next += 1
      return error
    }
    const limits: LimitOutcome[] = []
    for (const { set } of parts) {
      for (let i = 0; i < set.limits.length; i += 1) {
        const outcome = { wait: take(), remaining: take(), reset: take() }
        limits.push(grant === 'all' ? outcome : { ...outcome, granted: take() })
      }
    }
    return limits.some(({ wait }) => wait === OUTSIDE_CALENDAR) ? OUTSIDE : { at, limits }
  })
}

export function readRefunds(reply: readonly unknown[]): (RefundAnswer | typeof OUTSIDE)[] {
  return reply.slice(1).map((given) => {
    const error = errorIn(given)
    if (error) return error
    return Number(given) === OUTSIDE_CALENDAR ? OUTSIDE : Number(given) === 1
  })
}

/** A request that could not be decided has its error text in place of its numbers. */
function errorIn(value: unknown): StoreError | undefined {
  if (typeof value === 'number') return undefined
  // Clients can be told to answer numbers as strings, big integers or buffers.
  const text = String(value)
  return /^-?\d+$/.test(text) ? undefined : requestErrorOf(text)
}
