import { setTimeout as sleep } from 'node:timers/promises'
import { startApplication } from './application.ts'
import type { Fault } from './faults.ts'
import type { Run } from './figures.ts'
import { now, startLoad } from './load.ts'
import type { Framework, Pace, Policy } from './settings.ts'

/** One application through one fault, under load. */
export async function runThrough(
  fault: Fault,
  framework: Framework,
  policy: Policy,
  pace: Pace,
): Promise<Run> {
  const scene = await fault.prepare()
  try {
    const startedAt = now()
    const application = await startApplication(framework, policy, scene.target)
    const load = startLoad(application.port)
    if (!fault.fromStart) await sleep(pace.warmMs)
    const beganAt = fault.fromStart ? startedAt : now()
    await scene.begin()
    await sleep(pace.faultMs)
    await scene.end()
    const returnedAt = fault.isForGood ? undefined : now()
    await sleep(fault.isForGood ? 0 : pace.afterMs)
    const answers = await load.stop()
    const { report, exit } = await application.stop()
    const { hasBreaker } = application
    return { framework, policy, fault, beganAt, returnedAt, hasBreaker, answers, report, exit }
  } finally {
    await scene.close()
  }
}
