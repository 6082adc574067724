// Who is counted in the accuracy section, made for a quota and a window.
import {
  expressRateLimit,
  fastifyRateLimit,
  flexible,
  flexibleBlock,
  koaRateLimit,
  tollgate,
} from '../../kit/contenders.mjs'
import * as names from '../../names.mjs'

/** The limits of Tollgate here, by the name of the row. */
const ALGORITHMS = {
  'Tollgate: sliding log': 'sliding-log',
  'Tollgate: sliding window': 'sliding-window',
  'Tollgate: fixed window': 'fixed-window',
  'Tollgate: token bucket': 'token-bucket',
}

/** @param {import('../../kit/contenders.mjs').Load} load */
export function makeAll(client, load) {
  const { quota, windowMs } = load
  const ours = Object.entries(ALGORITHMS).map(([name, algorithm]) => {
    const limit = { quota, window: windowMs, algorithm }
    // All processes must have the same prefix, so it is not counted up.
    return [name, tollgate(client, limit, { prefix: `acc-${algorithm}-${windowMs}` })]
  })
  return new Map([
    ...ours,
    [names.EXPRESS, expressRateLimit(client, { ...load, prefix: `erl-${windowMs}:` })],
    [names.FASTIFY, fastifyRateLimit(client, { ...load, prefix: `frl-${windowMs}-` })],
    [names.KOA, koaRateLimit(client, { ...load, prefix: `krl-${windowMs}` })],
    [names.FLEXIBLE, flexible(client, { ...load, prefix: `rlf-${windowMs}` })],
    [names.FLEXIBLE_BLOCK, flexibleBlock(client, { ...load, prefix: `rlb-${windowMs}` })],
  ])
}
