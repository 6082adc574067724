// Who asks how much: tenants whose demand is skewed, on plans that are too small for the busy ones.

/** Numbers from 0 to just under 1, the same for the same seed (mulberry32). */
export function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws 0 to count - 1: each next one is less likely by Zipf's law. */
export function zipf(count, exponent) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i += 1) sums[i] = sum += (i + 1) ** -exponent
  return {
    draw: (random) => {
      const wanted = random() * sum
      let [low, high] = [0, count - 1]
      while (low < high) {
        const middle = (low + high) >> 1
        if (sums[middle] < wanted) low = middle + 1
        else high = middle
      }
      return low
    },
    share: (i) => (i + 1) ** -exponent / sum,
  }
}

/** Of a tenant, the units a second that its plan has. Their kinds take turns. */
const KINDS = [
  (rate) => ({ quota: rate, window: '1s', algorithm: 'token-bucket' }),
  (rate) => ({ quota: 10 * rate, window: '10s', algorithm: 'sliding-log' }),
  (rate) => ({ quota: 10 * rate, window: '10s', algorithm: 'sliding-window' }),
  (rate) => [
    { quota: rate, window: '1s', algorithm: 'token-bucket', burst: 2 * rate },
    { quota: 10 * rate, window: '10s', algorithm: 'sliding-window' },
    { quota: 100_000_000_000, window: 'month' },
  ],
]
/** Of a smaller limit a lease would save nothing, and the option is refused. */
const LEAST_UNITS = 64
/** How much of what a tenant asks for its plan has: half of them are over it. */
const ROOM = [1.5, 0.7]

/**
 * Tenants by their rank, the busiest first.
 *
 * @param rateOf the requests a second of a rank
 * @returns `{ id, limits, isLeasable, places }`: the processes that serve it, the first one most
 */
export function tenantsOf(count, { processes, spread, random, rateOf }) {
  return Array.from({ length: count }, (_, rank) => {
    const units = Math.ceil(rateOf(rank) * ROOM[Math.floor(rank / KINDS.length) % ROOM.length])
    return {
      id: `tenant-${rank}`,
      limits: KINDS[rank % KINDS.length](units),
      isLeasable: units >= LEAST_UNITS,
      places: Array.from({ length: Math.min(spread, processes) }, () => Math.floor(random() * processes)),
    }
  })
}
