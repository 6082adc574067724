// Units taken in advance: what one hot tenant gains, what Redis is spared, and what a tenant pays that is not hot.
import { startChild } from '../kit/children.mjs'
import { commandsOf, serverWork } from '../kit/redis.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import { leaseCrowd } from './lease-crowd.mjs'
import * as names from '../names.mjs'

const HOT = [names.MEMORY, names.LEASED, names.UNLEASED, names.MEMORY_AGAIN]
const CROWD = [names.UNLEASED, names.LEASED, names.UNLEASED_AGAIN]
const PROCESSES = 4

export async function measure({ url, monitor, cellMs, rounds, isQuick }) {
  // A process for each contender: what the engine learns of one limiter's code would slow the others.
  const own = new Map(HOT.map((name) => [name, startChild('sections/lease-worker.mjs', [url])]))
  for (const child of own.values()) await child.ask()
  const alone = async (name, child, isHot) => {
    const ask = (ms) => child.ask({ name, isHot, ms })
    await ask(cellMs)
    const { decisions, wallUs, nodeUs } = await ask(2 * cellMs)
    return { perSecond: (decisions * 1e6) / wallUs, nodeUs: nodeUs / decisions }
  }
  const turns = isQuick ? 3 : rounds + 2
  const hot = await takeTurns(own, turns, (name, child) => alone(name, child, true))
  for (const child of own.values()) child.stop()

  const crowd = await leaseCrowd(url, PROCESSES)
  const contenders = new Map(CROWD.map((name) => [name, name]))
  const together = async (name) => {
    const isHot = true
    await crowd.load({ name, isHot, ms: 2 * cellMs }, PROCESSES)
    let all
    const before = await serverWork(monitor)
    const { calls, us } = await commandsOf(monitor, async () => {
      all = await crowd.load({ name, isHot, ms: 4 * cellMs }, PROCESSES)
    })
    const cpuUs = (await serverWork(monitor)).cpuUs - before.cpuUs
    const { decisions, perSecond, leased } = all
    return {
      ...{ perSecond, per500: (500 * calls) / decisions, leased: leased / decisions },
      ...{ commandUs: us / calls, serverUs: cpuUs / calls },
    }
  }
  const four = await takeTurns(contenders, turns, together)
  const cold = await takeTurns(contenders, turns, (name) => alone(name, crowd.children[0], false))
  crowd.stop()
  return { hot, four, cold }
}
