import { REDIS_FAULTS } from '../faults/redis.ts'
import type { StoreUnderTest } from './store.ts'

/** In ms. Short, so that many whole windows lie before, in and after a fault. */
const WINDOW_MS = 500
/** In ms: longer than a run, so that a lease lasts as long as it can, and the whole run is one window of its plan. */
const LEASED_WINDOW_MS = 32_000

export const REDIS: StoreUnderTest = {
  name: 'redis',
  title: 'Redis',
  faults: REDIS_FAULTS,
  // Both versions of ioredis are used in turn.
  clientOf: { express: 'ioredis', fastify: 'ioredis5', koa: 'ioredis' },
  // The large plan has room for all requests that are sent at once when the load generator has stalled for 1 s.
  plans: {
    large: { quota: 120, windowMs: WINDOW_MS },
    small: { quota: 25, windowMs: WINDOW_MS },
    leased: { quota: 450, windowMs: LEASED_WINDOW_MS, lease: true },
    'topped-up': { quota: 100_000, windowMs: 3_600_000, topUp: 5 },
  },
  // The limits are exact logs, so any unit above them is a fault.
  mostOf: (quota) => quota,
  clocksPartMs: 0,
}
