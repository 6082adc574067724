import { simulate } from './simulate.mjs'

const PROCESSES = 1000
const PER_SECOND = 100_000
/** How many processes the requests of a tenant go to, with words for the table. */
const SPREADS = {
  'each tenant on 5 processes': 5,
  'each tenant on 50 processes': 50,
  'each tenant on all 1000 processes': PROCESSES,
}

/** Each with and without leases. */
export function scenarios({ seconds, seed }) {
  const shared = { processes: PROCESSES, perSecond: PER_SECOND, crashesPerSecond: 10, seconds, seed }
  return Object.entries(SPREADS).flatMap(([name, spread]) =>
    [false, true].map((lease) => ({ ...shared, name, spread, lease })),
  )
}

/** @returns the options of all, and what each scenario gave */
export async function simulateAll(all, say) {
  const results = []
  for (const { name, ...options } of all) {
    const figures = simulate(options)
    results.push({ name, ...options, ...figures })
    say(`${name}, ${options.lease ? 'with' : 'without'} leases: ${JSON.stringify(figures)}\n`)
    // A turn of the event loop, so that what is said is seen.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { format: 1, results }
}
