import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Identify, Limiter } from '@tollgate/core'
import { isSomebody, watchIdentity, type Identified } from '@tollgate/core/adapter'
import { fastify } from './adapter.js'
import { addLast, type Stage } from './last.js'

/**
 * Only this many of the requests that were counted by address are checked. After that, the stage is assumed to be
 * right.
 */
const LOOKS = 20

/**
 * Warns once when `identify` finds no subject in the stage that the user chose, but finds one after `preHandler`. Then
 * authentication runs in a later stage, and all requests are counted by address. It is better known there than once the
 * response is over, when a handler may have logged somebody in.
 */
export function warnOfLateIdentity(
  app: FastifyInstance,
  identify: Identify<FastifyRequest>,
  { stage, limiter }: { readonly stage: Stage; readonly limiter: Limiter },
): void {
  const watch = watchIdentity(fastify, identify, limiter)
  if (!watch) return
  watch.lookElsewhere()
  let left = LOOKS
  const look = async (request: FastifyRequest): Promise<void> => {
    const found = [await identify(request)].flat() as readonly Identified[]
    if (!found.some(isSomebody)) return
    left = 0
    watch.isLate(
      `identify found nobody in the stage ${stage}, so a request was counted by its address, but somebody behind ` +
        "preHandler: authentication comes after the limiter. Leave `hook` out, or set hook: 'preHandler'.",
    )
  }
  const check = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    if (left > 0 && request.rateLimit?.subject.kind === 'ip') {
      left -= 1
      // Errors of this extra call of `identify` concern nobody: the request was decided by the first call.
      look(request).catch(() => {})
    }
    done()
  }
  app.addHook('onRoute', (route) => addLast(route, 'preHandler', check))
}
