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

/** By name. All have `lease` or none has. */
export const PLANS = {
  log: '1000/5s',
  bucket: '400/s burst 400',
  'two windows': [
    { quota: 500, window: '1s', algorithm: 'fixed-window' },
    { quota: 4000, window: '10s', algorithm: 'sliding-window' },
  ],
  three: ['600/s burst 1200', { quota: 5500, window: '10s', algorithm: 'sliding-window' }, '50000/2min'],
}

/** Tenants by their rank, the busiest first. @returns `{ id, plan, places }`: the processes that serve it, the first one most */
export function tenantsOf(count, { processes, spread, random }) {
  const names = Object.keys(PLANS)
  return Array.from({ length: count }, (_, rank) => ({
    id: `tenant-${rank}`,
    plan: names[rank % names.length],
    places: Array.from({ length: Math.min(spread, processes) }, () => Math.floor(random() * processes)),
  }))
}
