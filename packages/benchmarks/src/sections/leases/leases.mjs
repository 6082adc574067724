// Units taken in advance: what one hot tenant gains, what Redis is spared, and what a tenant pays that is not hot.
import { startChild } from '../../kit/children.mjs'
import { commandsOf, serverWork } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import { leaseCrowd } from './lease-crowd.mjs'
import * as names from '../../names.mjs'

const HOT = [names.MEMORY, names.LEASED, names.UNLEASED, names.MEMORY_AGAIN]
const CROWD = [names.UNLEASED, names.LEASED, names.UNLEASED_AGAIN]
const PROCESSES = 4

export async function measure({ url, monitor, cellMs, rounds, isQuick }) {
  // A process for each contender: what the engine learns of one limiter's code would slow the others.
  const own = new Map(HOT.map((name) => [name, startChild('sections/leases/lease-worker.mjs', [url])]))
  for (const child of own.values()) await child.ask()
  const alone = async (name, child, crowd) => {
    const ask = (ms) => child.ask({ name, crowd, ms })
    await ask(cellMs)
    const { decisions, wallUs, nodeUs } = await ask(2 * cellMs)
    return { perSecond: (decisions * 1e6) / wallUs, nodeUs: nodeUs / decisions }
  }
  const turns = isQuick ? 3 : rounds + 2
  const hot = await takeTurns(own, turns, (name, child) => alone(name, child, 'hot'))
  for (const child of own.values()) child.stop()

  const crowd = await leaseCrowd(url, PROCESSES)
  const contenders = new Map(CROWD.map((name) => [name, name]))
  const together = async (name) => {
    await crowd.load({ name, crowd: 'hot', ms: 2 * cellMs }, PROCESSES)
    let all
    const { calls } = await commandsOf(monitor, async () => {
      all = await crowd.load({ name, crowd: 'hot', ms: 4 * cellMs }, PROCESSES)
    })
    const { decisions, perSecond, leased } = all
    return { perSecond, per500: (500 * calls) / decisions, leased: leased / decisions }
  }
  const four = await takeTurns(contenders, turns, together)
  const cold = await takeTurns(contenders, turns, (name) => alone(name, crowd.children[0]))
  const cost = await costs(monitor, crowd.children[0], { cellMs, turns: 3 })
  crowd.stop()
  return { hot, four, cold, cost }
}

const LOADS = {
  [names.ONE_A_COMMAND]: { name: names.UNLEASED, crowd: 'hot', isLone: true },
  [names.MANY_A_COMMAND]: { name: names.UNLEASED, crowd: 'hot' },
  [names.RENEWAL]: { name: names.LEASED, crowd: 'several' },
}

/** Redis's time for a decision and for a renewal: in scripts, and of the whole server with its sockets. */
function costs(monitor, child, { cellMs, turns }) {
  return takeTurns(new Map(Object.entries(LOADS)), turns, async (_name, load) => {
    // Leases last half a second, and all of them must be renewed.
    const ms = load.name === names.LEASED ? 1500 : 3 * cellMs
    await child.ask({ ...load, ms: ms / 3 })
    const before = await serverWork(monitor)
    let all
    const { us } = await commandsOf(monitor, async () => (all = await child.ask({ ...load, ms })))
    const { cpuUs } = await serverWork(monitor)
    const count = load.name === names.LEASED ? all.granted : all.decisions
    return { us: us / count, serverUs: (cpuUs - before.cpuUs) / count }
  })
}
