// Who really ran when, over all processes, and what may be said of it. A run is known to hold its slots from its answer until it
// gives them back, which is less than it really holds them: so what is over is over.
import type { Place } from './subjects.ts'
import type { Run } from './record.ts'

/** Slots that the store lost, or requests that were let in without it. From and to in µs. */
export interface Disturbance {
  readonly from: number
  readonly to: number
  /** How many more times the slots of a subject may be in use because of it. */
  readonly more: number
  /** The share of the slots that each process may let in by itself; 0 where the store alone decides. */
  readonly share: number
}

export interface Killed {
  readonly at: number
  /** The processes that were killed together. */
  readonly by: readonly number[]
}

export interface Seen {
  readonly places: readonly Place[]
  readonly runs: readonly Run[]
  readonly processes: number
  readonly disturbances: readonly Disturbance[]
  readonly killed: readonly Killed[]
  /** How soon after a disturbance the counts must be right, and after a kill the slots of the dead be back. */
  readonly withinUs: number
}

export interface Verdict {
  /** The most that ran at a time, as a share of the slots of the subject. */
  readonly most: number
  /** How long after a disturbance the last request began that was over the slots, in µs. */
  readonly settled: number
  /** The longest from a kill until a slot of the dead was in use again, in µs; undefined if none was held. */
  readonly back: number | undefined
  readonly violations: readonly string[]
}

export function judge(seen: Seen): Verdict {
  const all = seen.places.map((place, i) => judgePlace(seen, place, liveRuns(seen, i)))
  const backs = all.flatMap(({ backs }) => backs)
  return {
    most: Math.max(...all.map(({ most }) => most)),
    settled: Math.max(0, ...all.map(({ settled }) => settled)),
    back: backs.length > 0 ? Math.max(...backs) : undefined,
    violations: all.flatMap(({ violations }) => violations),
  }
}

/** Subjects of which more is asked for than may run, and whose slots were never all in use: some of them are lost. */
export function neverFull({ places, runs }: Pick<Seen, 'places' | 'runs'>): string[] {
  return places.flatMap(({ id, slots, isFull }, i) => {
    const most = Math.max(
      0,
      ...stepsOf(runs.filter(({ place }) => place === i)).map(({ running }) => running),
    )
    return isFull && most < slots ? [`${id}: no more than ${most} of ${slots} ever ran`] : []
  })
}

/** The runs of a subject; those of a process that was killed end with it. */
function liveRuns({ runs, killed }: Seen, place: number): Run[] {
  const diedAt = new Map(killed.flatMap(({ at, by }) => by.map((process) => [process, at] as const)))
  return runs
    .filter((run) => run.place === place)
    .map((run) => ({ ...run, to: Math.min(run.to, diedAt.get(run.by) ?? Infinity) }))
    .filter(({ from, to }) => from < to)
}

interface PlaceVerdict {
  readonly most: number
  readonly settled: number
  readonly backs: readonly number[]
  readonly violations: readonly string[]
}

function judgePlace(seen: Seen, place: Place, runs: readonly Run[]): PlaceVerdict {
  const violations: string[] = []
  const steps = stepsOf(runs)
  let [most, settled] = [0, 0]
  for (const { at, running, isBegin } of steps) {
    most = Math.max(most, running / place.slots)
    if (!isBegin || running <= place.slots) continue
    // Only a begin can be wrong: what was let in too much may go on until it ends.
    const allowed = allowedAt(seen, place.slots, at)
    if (running > allowed) violations.push(`${place.id}: ${running} ran at ${seconds(at)} s, of ${allowed}`)
    const last = seen.disturbances.findLast(({ from }) => from <= at)
    if (last) settled = Math.max(settled, at - last.to)
  }
  const backs = place.isFull ? seen.killed.flatMap((one) => backOf(one, { place, runs, steps })) : []
  for (const us of backs)
    if (us > seen.withinUs) violations.push(`${place.id}: slots of the dead were back after ${seconds(us)} s`)
  return { most, settled, backs, violations: violations.slice(0, 5) }
}

interface Step {
  readonly at: number
  /** From then on. */
  readonly running: number
  readonly isBegin: boolean
}

function stepsOf(runs: readonly Run[]): Step[] {
  const changes = runs.flatMap(({ from, to }) => [
    { at: from, change: 1 },
    { at: to, change: -1 },
  ])
  let running = 0
  return changes
    .toSorted((a, b) => a.at - b.at || a.change - b.change)
    .map(({ at, change }) => ({ at, running: (running += change), isBegin: change > 0 }))
}

/** How many may run when another begins: more after a disturbance, until all must have been reported again. */
function allowedAt({ disturbances, processes, withinUs }: Seen, slots: number, at: number): number {
  const before = disturbances.filter(({ from }) => from <= at)
  if (!before.some(({ to }) => at <= to + withinUs)) return slots
  const share = Math.max(...before.map((one) => one.share))
  const own = share > 0 ? processes * Math.max(Math.floor(slots * share), 1) : 0
  return before.reduce((sum, { more }) => sum + more * slots, slots) + own
}

/** How long it took until more ran than the dead had left; nothing if they held no slot. Never: Infinity. */
function backOf(
  { at, by }: Killed,
  { place, runs, steps }: { place: Place; runs: readonly Run[]; steps: readonly Step[] },
): number[] {
  const dead = runs.filter((run) => by.includes(run.by) && run.to === at).length
  if (dead === 0) return []
  const first = steps.find((step) => step.at > at && step.running > place.slots - dead)
  return [first ? first.at - at : Infinity]
}

function seconds(us: number): string {
  return (us / 1e6).toFixed(2)
}
