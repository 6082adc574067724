// A process that gets three times the requests that it can answer: what is left of them by plan, with and without
// shedding. And what shedding refuses when there is room. Each cell has a server of its own, since one that fell behind
// would still be at work in the next.
import { startChild } from '../kit/children.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

/** Of 5 ms each; less than the 200 a second that the work alone would allow. */
const CAPACITY = 190
const OVERLOAD = 3
const CALM = 0.6
const ROWS = new Map([
  [names.UNSHED, 'no'],
  [names.SHED, 'yes'],
])

export async function measure({ url, placement, isQuick }) {
  const apart = placement === 'apart'
  const client = startChild('http/open-client.mjs', [], { core: apart ? 1 : undefined })
  const ms = isQuick ? 1500 : 2000
  const turns = isQuick ? 2 : 3
  const cell = (store, load) => async (_name, shed, round) => {
    const server = startChild('http/busy-server.mjs', [shed, store, url], { core: apart ? 0 : undefined })
    const { port } = await server.ask()
    const result = await client.ask({ port, perSecond: CAPACITY * load, ms, seed: 1000 * load + round })
    server.stop()
    return figuresOf(result)
  }
  const grids = {
    memory: await takeTurns(ROWS, turns, cell('memory', OVERLOAD)),
    redis: await takeTurns(ROWS, turns, cell('redis', OVERLOAD)),
    calm: await takeTurns(ROWS, turns, cell('memory', CALM)),
  }
  client.stop()
  return grids
}

function figuresOf({ plans, seconds }) {
  const { free, starter, pro } = plans
  const all = [free, starter, pro]
  const delays = pro.delays.toSorted((a, b) => a - b)
  const sum = (name) => all.reduce((total, tally) => total + tally[name], 0)
  const goodOf = ({ good, sent }) => good / sent
  return {
    ...{ free: goodOf(free), starter: goodOf(starter), pro: goodOf(pro) },
    goodPerSecond: sum('good') / seconds,
    refused: sum('refused'),
    p50: delays[Math.floor(delays.length / 2)] ?? 0,
    p99: delays[Math.floor(delays.length * 0.99)] ?? 0,
  }
}
