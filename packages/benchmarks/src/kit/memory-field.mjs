// Who takes part in the sections without Redis, each made for a quota a minute.
import { memoryStore } from '@tollgate/core'
import { MemoryStore } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import * as names from '../names.mjs'
import { allowedByFlexible, tollgateOn } from './contenders.mjs'

/** @type {Record<string, (quota: number) => import('./contenders.mjs').Contender>} by the name of the row */
export const MEMORY_CONTENDERS = {
  [names.FLEXIBLE_MEMORY]: flexible,
  [names.BUCKET]: windowed('token-bucket'),
  [names.FIXED]: windowed('fixed-window'),
  [names.WINDOW]: windowed('sliding-window'),
  [names.LOG]: windowed('sliding-log'),
  [names.THREE]: (quota) =>
    ours([
      `${quota}/s burst ${quota}`,
      { quota, window: 'min', algorithm: 'sliding-window' },
      `${500 * quota}/month`,
    ]),
  [names.EXPRESS_MEMORY]: expressMemory,
  [names.FLEXIBLE_MEMORY_AGAIN]: flexible,
}

function windowed(algorithm) {
  return (quota) => ours({ quota, window: 'min', algorithm })
}

function ours(limit) {
  return tollgateOn(memoryStore(), limit)
}

function flexible(points) {
  const limiter = new RateLimiterMemory({ points, duration: 60 })
  return { decide: (id) => limiter.consume(id), allowed: allowedByFlexible }
}

function expressMemory(quota) {
  const store = new MemoryStore()
  store.init({ windowMs: 60_000 })
  return { decide: (id) => store.increment(id), allowed: ({ totalHits }) => totalHits <= quota }
}
