import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@tollgate/testing/redis'
import { startApplication, type Case } from './application.ts'
import type { Run } from './figures.ts'
import { now, startLoad, type Load } from './load.ts'
import { CONTROLS, GOOD, LEASED, type Pace } from './settings.ts'
import { planOf, ratesOf } from './stores/store.ts'

/**
 * How many answers made without the store to wait for during a fault: enough that some come after the breaker has
 * opened.
 */
const ENOUGH = 60

/** Runs one application under load through one fault. */
export async function runThrough(given: Case, pace: Pace): Promise<Run> {
  const { store, fault } = given
  const scene = await fault.prepare()
  try {
    const startedAt = now()
    const application = await startApplication(given, scene.target)
    const load = startLoad(application.port, { ...pace, rates: ratesOf(store, pace.rates) })
    /** Waits in real time, since windows and rates are in real time. */
    const pass = async (ms: number, isSo: () => boolean): Promise<void> => {
      await sleep(ms)
      // If the condition never holds, the checks report that.
      if (pace.waits) await eventually(isSo).catch(() => {})
    }
    const isWarm = (): boolean => isByStore(load, startedAt) && (!planOf(store, LEASED) || isLeased(load))
    if (!fault.fromStart) await pass(pace.warmMs, isWarm)
    const beganAt = fault.fromStart ? startedAt : now()
    await scene.begin()
    await pass(pace.faultMs, () => fault.isPartial === true || isNotByStore(load, beganAt))
    await scene.end()
    const returnedAt = fault.isForGood ? undefined : now()
    if (returnedAt !== undefined) await pass(pace.afterMs, () => isByStore(load, returnedAt))
    const answers = await load.stop()
    const { report, exit } = await application.stop()
    const { hasBreaker } = application
    return { ...given, beganAt, returnedAt, hasBreaker, answers, report, exit }
  } finally {
    await scene.close()
  }
}

/** Whether the store has decided for every good tenant. */
function isByStore({ answers }: Load, since: number): boolean {
  const decided = answers.filter(({ source, sentAt }) => source === 'store' && sentAt >= since)
  return GOOD.every((good) => decided.some(({ who }) => who === good))
}

function isLeased({ answers }: Load): boolean {
  return answers.some(({ source }) => source === 'lease')
}

function isNotByStore({ answers }: Load, since: number): boolean {
  const others = answers.filter(
    ({ who, sentAt, source }) =>
      sentAt >= since && source !== 'store' && source !== 'lease' && !CONTROLS.includes(who),
  )
  return others.length >= ENOUGH
}
