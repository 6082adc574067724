// The time to an answer at a fixed offered rate, counted from when each request was due.
import { everybody } from '../kit/field.mjs'
import { openLoop } from '../kit/load.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import { quantile } from '../kit/statistics.mjs'

/** Requests a second: about a third of what a lone connection does one after another. */
const RATE = 4000

export async function measure({ clients, rounds, isQuick }) {
  const ms = isQuick ? 200 : 600
  const cell = async (_name, contender) => {
    await clients.client.flushdb()
    await openLoop(contender, { rate: RATE, ms: ms / 4 })
    const delays = await openLoop(contender, { rate: RATE, ms })
    return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), max: Math.max(...delays) }
  }
  return { latency: await takeTurns(await everybody(clients), rounds, cell) }
}
