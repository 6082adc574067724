// What a limiter in memory costs Node a request, by CPU time: beside the same answer set by hand, which no limiter goes
// below. This section runs on one core (sections.mjs), with the servers and the client that it starts. On two cores, the
// interrupts that wake a process on the other core count as its CPU time, on virtual machines up to as much as the request
// itself. A client that cannot keep up hides that, but only for the servers that are cheap. On one core there are none, and
// what the client takes counts for nobody.
import { get } from 'node:http'
import { checkAnswers } from '../http/answers.mjs'
import { ID_HEADER, QUOTA } from '../http/apps.mjs'
import { startChild } from '../kit/children.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

/** By framework: the peer, and the requests of a cell; of the slowest fewer, so that all take about as long. */
const FRAMEWORKS = {
  Fastify: { peer: names.FASTIFY, count: 6000 },
  Express: { peer: names.EXPRESS, count: 2500 },
  Koa: { peer: names.KOA, count: 6000 },
}
/** Requests before a cell. A denied tenant uses its quota up by them. */
const BEFORE = 500
/** What Node or the framework adds to any answer. */
const NOT_SET = ['connection', 'content-length', 'date', 'etag', 'keep-alive', 'x-powered-by']

export async function measure({ rounds, isQuick }) {
  const client = startChild('http/client.mjs', [])
  const grids = {}
  for (const [framework, { peer, count }] of Object.entries(FRAMEWORKS)) {
    // Requests and not times: a busy machine must not shorten what the engine learns of a server. Until it has compiled
    // one, a request takes several times as long.
    const context = {
      client,
      rounds,
      ...(isQuick ? { count: count / 2, warmUp: 12_000 } : { count, warmUp: 20_000 }),
    }
    Object.assign(grids, await measureOn(framework, peer, context))
  }
  client.stop()
  return grids
}

async function measureOn(framework, peer, context) {
  const start = async (name, answer) => {
    const args = [framework.toLowerCase(), name, 'memory', ...(answer ? [JSON.stringify(answer)] : [])]
    const server = startChild('http/server.mjs', args)
    return { server, ...(await server.ask()) }
  }
  const [none, ours, theirs] = await Promise.all([names.NONE, names.LOG_100, peer].map((name) => start(name)))
  const { allowed, denied } = await answersOf(ours.port)
  const twice = (answer) => Promise.all([start(names.BY_HAND, answer), start(names.BY_HAND_AGAIN, answer)])
  const [[hand, handAgain], [denier, denierAgain]] = await Promise.all([twice(allowed), twice(denied)])
  await checkSame(framework, allowed, hand.port)
  await checkSame(framework, denied, denier.port)
  const limiters = [
    [names.LOG_100, ours],
    [peer, theirs],
  ]
  const rows = {
    allowed: [[names.NONE, none], [names.BY_HAND, hand], ...limiters, [names.BY_HAND_AGAIN, handAgain]],
    denied: [[names.BY_HAND, denier], ...limiters, [names.BY_HAND_AGAIN, denierAgain]],
  }
  const grids = {}
  for (const [mode, servers] of Object.entries(rows)) {
    const cell = cellOf(context, mode)
    for (const [, { port }] of servers)
      await context.client.ask({ port, id: idOf(mode, 0), count: context.warmUp })
    // Servers that were idle for the first time take longer once.
    for (const [name, server] of servers) await cell(name, server)
    grids[`${framework}, ${mode}`] = await takeTurns(new Map(servers), context.rounds, cell)
  }
  for (const { server } of [none, ours, theirs, hand, handAgain, denier, denierAgain]) server.stop()
  return grids
}

/** One tenant that is denied, or many. */
const idOf = (mode, cell) => (mode === 'denied' ? `hot-${cell}` : undefined)

function cellOf({ client, count }, mode) {
  let cells = 0
  return async (name, { server, port }) => {
    const id = idOf(mode, (cells += 1))
    await client.ask({ port, id, count: BEFORE })
    const before = await server.ask('cpu')
    const result = await client.ask({ port, id, count })
    const after = await server.ask('cpu')
    const total = checkAnswers(`${name}, ${mode}`, result, mode === 'denied')
    return { cpuUs: (after.cpuUs - before.cpuUs) / total }
  }
}

/** What Tollgate answers now, so that headers which come or go are set by hand, too. */
async function answersOf(port) {
  const ask = () => answerOf(port, 'whose answer is taken')
  const allowed = await ask()
  for (let i = 0; i < QUOTA; i += 1) {
    const denied = await ask()
    if (denied.status === 429) return { allowed: withoutType(allowed), denied }
  }
  throw new Error(`${QUOTA + 1} requests were let through by a limit of ${QUOTA}`)
}

/** The type of an answer that was let through is the route's. */
function withoutType({ headers, ...answer }) {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')
  return { ...answer, headers: Object.fromEntries(kept) }
}

/** @throws when what is answered by hand is not Tollgate's answer */
async function checkSame(framework, { status, headers, body }, port) {
  const byHand = await answerOf(port, 'anybody')
  const lower = (all) => new Map(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]))
  const found = lower(byHand.headers)
  const missing = [...lower(headers)].filter(([name, value]) => found.get(name) !== value)
  if (missing.length > 0 || byHand.status !== status || byHand.body !== body)
    throw new Error(`${framework}: by hand answers otherwise than Tollgate: ${JSON.stringify(byHand)}`)
}

function answerOf(port, id) {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', headers: { [ID_HEADER]: id } }, async (response) => {
      const chunks = await response.toArray()
      const { rawHeaders, statusCode: status } = response
      const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]]] : []))
      const set = pairs.filter(([name]) => !NOT_SET.includes(name.toLowerCase()))
      resolve({ status, headers: Object.fromEntries(set), body: Buffer.concat(chunks).toString() })
    })
    request.once('error', reject)
  })
}
