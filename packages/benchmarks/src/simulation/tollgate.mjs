// The parts of Tollgate that are simulated, as they were built. They are loaded after the clock has taken their timers.
const core = new URL('../../../core/dist/esm/', import.meta.url)

export async function loadTollgate(clock) {
  clock.takeTimers()
  const load = (path) => import(new URL(path, core).href)
  const [{ Features }, { Leases }, { Denials }, { ProcessStore }, { compilePlan }, { newLeaseId }] =
    await Promise.all(
      [
        ...['limiter/pipeline/features.js', 'features/leases/leases.js', 'features/denials/denials.js'],
        ...['stores/memory/process-store.js', 'plans/plan.js', 'failure/outbox.js'],
      ].map(load),
    )
  return { Features, Leases, Denials, ProcessStore, compilePlan, newLeaseId }
}
