// Commands a second at Redis against the decisions a second that one tenant asks for, with and without leases.
import { commandsOf } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import { leaseCrowd } from './lease-crowd.mjs'
import * as names from '../../names.mjs'

const RATES = [1000, 3000, 10_000, 30_000, 100_000, undefined]
const PROCESSES = [1, 4]

export async function measure({ url, monitor, isQuick }) {
  const crowd = await leaseCrowd(url, Math.max(...PROCESSES))
  const [warmMs, ms] = isQuick ? [200, 300] : [300, 500]
  const loads = new Map(RATES.map((rate) => [rate === undefined ? 'as fast as it goes' : String(rate), rate]))
  const grids = {}
  for (const count of PROCESSES) {
    const cell = async (_name, rate) => {
      const without = await measured(names.UNLEASED, rate)
      const leased = await measured(names.LEASED, rate)
      return {
        ...{ plainDecisions: without.perSecond, plainCommands: without.commands },
        ...{ leasedDecisions: leased.perSecond, leasedCommands: leased.commands },
        fewer: without.each / leased.each,
      }
    }
    const measured = async (name, rate) => {
      await crowd.load({ name, crowd: 'hot', rate, ms: warmMs }, count)
      let all
      const start = performance.now()
      const { calls } = await commandsOf(monitor, async () => {
        all = await crowd.load({ name, crowd: 'hot', rate, ms }, count)
      })
      const seconds = (performance.now() - start) / 1000
      return { perSecond: all.perSecond, commands: calls / seconds, each: calls / all.decisions }
    }
    grids[String(count)] = await takeTurns(loads, isQuick ? 2 : 3, cell)
  }
  crowd.stop()
  return grids
}
