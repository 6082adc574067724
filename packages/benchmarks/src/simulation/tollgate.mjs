// The parts of Tollgate that are simulated, from their sources: no face of core has them. They are loaded after the clock has
// taken their timers.
import '../../../faults/src/typescript.mjs'

const core = new URL('../../../core/src/', import.meta.url)

export async function loadTollgate(clock) {
  clock.takeTimers()
  const load = (path) => import(new URL(path, core).href)
  const [{ Features }, { Leases }, { Denials }, { ProcessStore }, { compilePlan }, { newLeaseId }] =
    await Promise.all(
      [
        ...['limiter/pipeline/features.ts', 'features/leases/leases.ts', 'features/denials/denials.ts'],
        ...['stores/memory/process-store.ts', 'plans/plan.ts', 'failure/outbox.ts'],
      ].map(load),
    )
  return { Features, Leases, Denials, ProcessStore, compilePlan, newLeaseId }
}
