import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Identified, Identify } from '@tollgate/core'
import { isSomebody, type Warn } from '@tollgate/core/adapter'
import { addLast, type Stage } from './last.js'

/** How many requests that were counted by address are looked at again, before it is taken that all is well. */
const LOOKS = 20

/**
 * Warns once when `identify` finds nobody in the stage that the user chose, but would have behind it: authentication is
 * in a later one, and everyone is counted by address.
 */
export function warnOfLateIdentity(
  app: FastifyInstance,
  identify: Identify<FastifyRequest>,
  { stage, warn }: { readonly stage: Stage; readonly warn: Warn },
): void {
  let left = LOOKS
  const look = async (request: FastifyRequest): Promise<void> => {
    const found = [await identify(request)].flat() as readonly Identified[]
    if (!found.some(isSomebody) || left <= 0) return
    left = 0
    warn(
      'TOLLGATE_LATE_IDENTITY',
      `identify found nobody in the stage ${stage}, so a request was counted by its address, but somebody behind ` +
        "preHandler: authentication comes after the limiter. Leave `hook` out, or set hook: 'preHandler'.",
    )
  }
  const check = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    if (left > 0 && request.rateLimit?.subject.kind === 'ip') {
      left -= 1
      // What it throws now was not asked for by anyone.
      look(request).catch(() => {})
    }
    done()
  }
  app.addHook('onRoute', (route) => addLast(route, 'preHandler', check))
}
