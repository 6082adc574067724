// Measures decisions a second and the CPU time of Node and the server. In every round each contender has its turn.
import { closedLoop } from './load.mjs'
import { serverCpuUs } from './redis.mjs'

/**
 * @typedef {object} Figures of one contender, with one value per round
 * @property {number[]} perSecond decisions per second
 * @property {number[]} serverUs  CPU time of the server per decision, in µs
 * @property {number[]} nodeUs    CPU time of this process per decision, in µs
 */

/** @returns {Promise<Map<string, Figures>>} by the name of the contender */
export async function measureSpeed(contenders, { client, monitor, inFlight, rounds, cellMs }) {
  const names = [...contenders.keys()]
  const results = new Map(names.map((name) => [name, { perSecond: [], serverUs: [], nodeUs: [] }]))
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round) % names.length]
      await client.flushdb()
      const cell = await measureCell(contenders.get(name), { monitor, inFlight, cellMs })
      for (const [figure, value] of Object.entries(cell)) results.get(name)[figure].push(value)
    }
  }
  return results
}

async function measureCell(contender, { monitor, inFlight, cellMs }) {
  await closedLoop(contender, inFlight, cellMs / 2)
  const serverBefore = await serverCpuUs(monitor)
  const nodeBefore = process.cpuUsage()
  const started = performance.now()
  const decisions = await closedLoop(contender, inFlight, cellMs)
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(nodeBefore)
  const serverUs = (await serverCpuUs(monitor)) - serverBefore
  return {
    perSecond: decisions / seconds,
    serverUs: serverUs / decisions,
    nodeUs: (user + system) / decisions,
  }
}
