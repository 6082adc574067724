// A flood of one denied tenant, with 64 in flight: who spares Redis, and how much is left for the others.
import { flexible, flexibleBlock, incr, tollgate } from '../kit/contenders.mjs'
import { LIMITS, QUOTA } from '../kit/field.mjs'
import { checkDenied, closedLoop, useUp } from '../kit/load.mjs'
import { serverWork } from '../kit/redis.mjs'
import { takeTurns, timed } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

export async function measure({ clients: { client }, monitor, cellMs, rounds, isQuick }) {
  const load = { quota: QUOTA, windowMs: 60_000 }
  const contenders = new Map([
    [names.FLEXIBLE_BLOCK, flexibleBlock(client, { ...load, prefix: 'rlb' })],
    [names.BUCKET, tollgate(client, LIMITS[names.BUCKET])],
    [names.LOG, tollgate(client, LIMITS[names.LOG])],
    [names.LOG_ASKED, tollgate(client, LIMITS[names.LOG], { denials: false })],
    [names.FLEXIBLE, flexible(client, { ...load, prefix: 'rlf' })],
    [`${names.FLEXIBLE_BLOCK}, again`, flexibleBlock(client, { ...load, prefix: 'rlc' })],
    [names.INCR, incr(client)],
  ])
  let cells = 0
  const cell = async (name, contender) => {
    await client.flushdb()
    const hot = `hot-${(cells += 1)}`
    if (name !== names.INCR) await useUp(contender, hot, 2 * QUOTA)
    const flood = (ms) => closedLoop(contender, () => hot, { inFlight: 64, ms })
    await flood(cellMs / 2)
    const before = await serverWork(monitor)
    const { result, wallUs, nodeUs } = await timed(() => flood(cellMs))
    const after = await serverWork(monitor)
    if (name !== names.INCR) checkDenied('flood', result)
    return {
      perSecond: (result.decisions * 1e6) / wallUs,
      nodeUs: nodeUs / result.decisions,
      serverUs: (after.cpuUs - before.cpuUs) / result.decisions,
    }
  }
  return { flood: await takeTurns(contenders, isQuick ? 3 : rounds + 2, cell) }
}
