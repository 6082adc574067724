// Decisions a second and what they cost the server, contenders taking turns in every round.
import { serverCpuUs } from './redis.mjs'

const KEYS = 10_000

/**
 * @returns for each contender the values of each round: `{ perSecond, serverUs, nodeUs }`
 */
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

async function measureCell(decide, { monitor, inFlight, cellMs }) {
  await closedLoop(decide, inFlight, cellMs / 2)
  const cpuBefore = await serverCpuUs(monitor)
  const nodeBefore = process.cpuUsage()
  const started = performance.now()
  const decisions = await closedLoop(decide, inFlight, cellMs)
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(nodeBefore)
  const serverUs = ((await serverCpuUs(monitor)) - cpuBefore) / decisions
  return { perSecond: (decisions / ms) * 1000, serverUs, nodeUs: (user + system) / decisions }
}

/** Keeps this many in flight for the time; resolves with how many were decided. */
async function closedLoop(decide, inFlight, ms) {
  const until = performance.now() + ms
  let next = 0
  let done = 0
  const client = async () => {
    while (performance.now() < until) {
      await decide(`user-${next++ % KEYS}`)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, client))
  return done
}
