// The sections of a run, in order. Each is measured in a process of its own, so that none warms up code, fills the heap
// or ends the process of another.

/**
 * @typedef {Record<string, Record<string, Record<string, number[]>>>} Grids what a section measured: by grid, row and
 *   figure one value a round. Rows of one grid took turns, so their values pair up.
 */

/**
 * By the name for `--only`: the file that measures it, what is given to it, and the placement on cores that it needs
 * whatever `--cores` says, unless that is `free`.
 */
export const SECTIONS = {
  'speed-1': { file: 'speed.mjs', input: { inFlight: 1 } },
  'speed-64': { file: 'speed.mjs', input: { inFlight: 64 } },
  'speed-512': { file: 'speed.mjs', input: { inFlight: 512 } },
  latency: { file: 'latency.mjs' },
  server: { file: 'server.mjs' },
  flood: { file: 'flood.mjs' },
  'in-memory': { file: 'in-memory/in-memory.mjs' },
  bytes: { file: 'bytes.mjs' },
  'http-express': { file: 'http.mjs', input: { framework: 'express' } },
  'http-fastify': { file: 'http.mjs', input: { framework: 'fastify' } },
  'http-koa': { file: 'http.mjs', input: { framework: 'koa' } },
  'http-cpu': { file: 'http-cpu.mjs', cores: 'together' },
  import: { file: 'import.mjs' },
  accuracy: { file: 'accuracy/accuracy.mjs' },
  growth: { file: 'growth.mjs' },
  processes: { file: 'processes.mjs' },
  cluster: { file: 'cluster.mjs' },
  leases: { file: 'leases/leases.mjs' },
  'lease-curve': { file: 'leases/lease-curve.mjs' },
  'in-flight': { file: 'in-flight/in-flight.mjs' },
  memcached: { file: 'memcached/memcached.mjs' },
  'memcached-accuracy': { file: 'memcached/memcached-accuracy.mjs' },
  shedding: { file: 'shedding.mjs' },
  'own-limits': { file: 'in-memory/own-limits.mjs' },
  'billing-days': { file: 'billing-days/billing-days.mjs' },
  traffic: { file: 'traffic/traffic.mjs' },
}

/** @returns the names that `wanted` stands for: a name, or the beginning of several, such as `http` */
export function sectionsOf(wanted) {
  const names = Object.keys(SECTIONS)
  if (wanted.length === 0) return names
  const found = wanted.flatMap((one) => {
    const matching = names.filter((name) => name === one || name.startsWith(`${one}-`))
    if (matching.length === 0) throw new Error(`--only: got ${one}, expected some of ${names.join(', ')}`)
    return matching
  })
  return names.filter((name) => found.includes(name))
}
