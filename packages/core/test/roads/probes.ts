// Requests after a schedule was played: they test laws 3 and 4 by trying, and law 7 right after a change of plans.
import type { Decision } from '../../src/index.js'
import { capacityOf, type LimitSpec } from './limits.js'
import { isFlight } from './lines.js'
import type { Play } from './play.js'
import { Random } from '@tollgate/testing'
import type { Ask, Plans, Schedule } from './schedule.js'
import type { Case } from './tally.js'

/** The most requests sent one after another. */
const MOST_PROBED = 6

export async function probe(play: Play, schedule: Schedule, given: Case): Promise<void> {
  const random = new Random(schedule.seed ^ 0x5eed)
  const who = random.pick(schedule.subjects)
  const place = random.pick(['app', 'stacked', 'both'] as const)
  await sumsUp(play, { place, who: [who], cost: 1, process: 0 }, given)
  if (!given.isBroken) await movesNow(play, schedule, random)
  if (!given.isBroken) await play.landed()
}

/** As many requests pass as `remaining` says, the next is denied, and passes after its `retryAfterMs`. */
async function sumsUp(play: Play, ask: Ask, given: Case): Promise<void> {
  if (mayHaveForgotten(play, ask)) return
  const { allowed: fits, limits } = await play.look(ask)
  const left = fits ? Math.min(...limits.map(({ remaining }) => remaining)) : 0
  for (let i = 0; i < Math.min(left, MOST_PROBED); i += 1) {
    const { allowed } = await play.lone(ask)
    given.check(3, allowed, () => `${left} were left, ${i} passed`)
    if (given.isBroken) return
  }
  if (left > MOST_PROBED) return
  const denied = await play.lone(ask)
  given.check(3, !denied.allowed, () => `${left} were left, and one more passed`)
  const wait = denied.retryAfterMs
  if (given.isBroken || wait === null) return
  if (isFull(play, ask, denied)) return landsOne(play, ask, denied)
  if (play.isLive) return
  play.advance((wait - 1) * 1000)
  const early = await play.lone(ask)
  if (!early.allowed) play.advance(1000)
  const later = early.allowed ? early : await play.lone(ask)
  // With several steps the wait is that of one step only, so another step may deny after it.
  // So is that of a denial from memory, if it knows only one of the keys.
  const isPart = play.isInSteps(play.oracle.linesOf(ask)) || denied.source === 'cache'
  const isOther = isPart && !later.violated.some((name) => denied.violated.includes(name))
  given.check(4, later.allowed || isOther, () => `denied after ${wait} ms, as it was told`)
  // Units in a shared slot, or of a bucket, may be back a little earlier.
  const isCoarse = play.oracle
    .linesOf(ask)
    .some(({ spec }) => spec.kind === 'coarse' || spec.kind === 'bucket')
  if (!isCoarse) given.check(4, !early.allowed, () => `admitted 1 ms before the ${wait} ms it was told`)
}

/** Whether requests in flight alone keep a request out. */
function isFull(play: Play, ask: Ask, { violated }: Decision): boolean {
  const lines = play.oracle.linesOf(ask).filter(({ name }) => violated.includes(name))
  return lines.some(({ spec }) => isFlight(spec))
}

/** Once a request has ended, another passes, unless something else denies it. */
async function landsOne(play: Play, ask: Ask, denied: Decision): Promise<void> {
  const full = play.oracle
    .linesOf(ask)
    .filter(({ spec, name }) => isFlight(spec) && denied.violated.includes(name))
  for (const { key } of full) if (!play.flights.endOneOf(new Set([key]))) return
  await play.settled(ask)
  await play.lone(ask)
}

/** Whether the store may have forgotten slots that a process holds: then a look says less than a request finds. */
function mayHaveForgotten(play: Play, ask: Ask): boolean {
  const looked = play.oracle.linesOf({ ...ask, process: undefined })
  return looked.some((line) => {
    const { least, most } = play.oracle.room(line, play.nowUs)
    return isFlight(line.spec) && least < most
  })
}

/** Changes the quotas of all plans, and checks at once that used units still count. */
async function movesNow(play: Play, schedule: Schedule, random: Random): Promise<void> {
  const moved = Object.fromEntries(
    Object.entries(schedule.versions[0] as Plans).map(([name, specs]) => [
      name,
      specs.map((spec) => other(spec, random)),
    ]),
  )
  play.setPlans(moved)
  for (const who of schedule.subjects.slice(0, 2)) await play.settled({ place: 'app', who: [who], cost: 1 })
}

function other(spec: LimitSpec, random: Random): LimitSpec {
  const more = random.int(1, 9)
  // A bucket gets another burst only: the oracle's bucket has one rate. test/laws/07 tests changed rates.
  return spec.kind === 'bucket'
    ? { ...spec, burst: spec.burst + more }
    : { ...spec, quota: capacityOf(spec) + more }
}
