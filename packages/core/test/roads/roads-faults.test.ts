import { testPrefix, cases } from '@tollgate/testing'
import { clusterFaults } from './cluster-faults.js'
import { FaultPlay, type FaultWorld } from './fault-play.js'
import { describeLaws, seeds } from './many.js'
import { serverFaults, type Fault } from './server-faults.js'
import { SlotFaultPlay } from './slot-fault-play.js'
import { Tally } from './tally.js'
import { NoAnswer } from './within.js'

const tally = new Tally()
const LAWS = [1, 2, 9, 11]
const SCHEDULES = cases(4, 20)
/** With requests in flight. */
const FLYING = cases(3, 8)
/** Schedules that meet one fault at the same time, each with its own limiter and subjects. */
const AT_ONCE = 20

const inFlight = (fault: string): string => `${fault}, in flight`

let rejections = 0
const onRejection = (): void => void (rejections += 1)

type AnyPlay = FaultPlay | SlotFaultPlay

const faults: readonly Fault[] = [...serverFaults, ...clusterFaults]

/** Runs `act`. A request without an answer ends the play and breaks law 9, so that the failure has the law's name. */
async function untilUnanswered(play: AnyPlay, act: (play: AnyPlay) => Promise<void>): Promise<void> {
  if (play.case.isBroken) return
  try {
    await act(play)
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    play.case.check(9, false, () => error.message)
  }
}

async function meet(fault: Fault, some: readonly number[]): Promise<void> {
  const place = await fault.start()
  try {
    const prefix = testPrefix()
    const world: FaultWorld = { losesData: false, isUnsent: false, staysDown: false, ...fault, ...place }
    const flying = some.slice(0, FLYING).map((seed) => new SlotFaultPlay(seed, prefix, world))
    const plays = [...some.map((seed) => new FaultPlay(seed, prefix, world)), ...flying]
    const all = async (act: (play: AnyPlay) => Promise<void>): Promise<void> => {
      await Promise.all(plays.map((play) => untilUnanswered(play, act)))
    }
    await all((play) => play.recovered())
    await all((play) => play.phase('before'))
    await place.begin()
    await all((play) => play.phase('during'))
    await place.end()
    if (!world.staysDown) await all((play) => play.recovered())
    await all((play) => play.phase('after'))
    await all((play) => play.close())
    for (const play of plays) {
      play.case.check(9, rejections === 0, () => 'a rejection was not handled')
      tally.add(play instanceof SlotFaultPlay ? inFlight(fault.name) : fault.name, play.case)
    }
  } finally {
    await place.stop()
  }
}

beforeAll(async () => {
  // Under jest an unhandled rejection does not end the process, but listeners are still called.
  process.on('unhandledRejection', onRejection)
  const all = seeds(SCHEDULES)
  for (const fault of faults) {
    for (let i = 0; i < all.length; i += AT_ONCE) await meet(fault, all.slice(i, i + AT_ONCE))
  }
})

afterAll(() => {
  process.off('unhandledRejection', onRejection)
  tally.print()
})

for (const { name } of faults) {
  describeLaws(tally, { road: name, laws: LAWS, schedules: SCHEDULES, faults: SCHEDULES })
  describeLaws(tally, { road: inFlight(name), laws: LAWS, schedules: FLYING, faults: FLYING })
}
