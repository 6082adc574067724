// A small application on a framework, behind each limiter: allowed and flooded. Server and client are processes of
// their own; with two cores the server has one, Redis and the client share the other. What it costs Node is measured by
// http-cpu.mjs: on two cores that figure would be wrong.
import { checkAnswers } from '../http/answers.mjs'
import { startChild } from '../kit/children.mjs'
import { serverWork } from '../kit/redis.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

const PEER = { express: names.EXPRESS, fastify: names.FASTIFY, koa: names.KOA }
const LIMITLESS = [names.NONE, names.NONE_AGAIN]

export async function measure({ framework, url, clients, monitor, placement, rounds, isQuick }) {
  const rows = [names.NONE, names.INCR, names.LOG_100, names.BUCKET, PEER[framework]]
  rows.push(names.FLEXIBLE, names.FLEXIBLE_BLOCK, names.NONE_AGAIN)
  const apart = placement === 'apart'
  const client = startChild('http/client.mjs', [], { core: apart ? 1 : undefined })
  const start = async (name) => {
    const server = startChild('http/server.mjs', [framework, name, url], { core: apart ? 0 : undefined })
    return [name, { server, ...(await server.ask()) }]
  }
  const servers = new Map(await Promise.all(rows.map(start)))
  const context = { client, redis: clients.client, monitor, ms: isQuick ? 140 : 450 }
  const grids = {}
  for (const mode of ['allowed', 'flood']) {
    grids[mode] = await takeTurns(servers, isQuick ? 3 : rounds, cellOf(context, mode))
  }
  for (const { server } of servers.values()) server.stop()
  client.stop()
  return grids
}

function cellOf({ client, redis, monitor, ms }, mode) {
  let cells = 0
  return async (name, { port }) => {
    await redis.flushdb()
    const id = mode === 'flood' ? `hot-${(cells += 1)}` : undefined
    const load = (lasting) => client.ask({ port, id, ms: lasting })
    // In a flood this uses the quota up.
    await load(ms / 2)
    const before = await serverWork(monitor)
    const result = await load(ms)
    const after = await serverWork(monitor)
    const denies = mode === 'flood' && !LIMITLESS.includes(name)
    const total = checkAnswers(`${name}, ${mode}`, result, denies)
    return {
      perSecond: total / result.seconds,
      p50: result.p50,
      p99: result.p99,
      serverUs: (after.cpuUs - before.cpuUs) / total,
    }
  }
}
