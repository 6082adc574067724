// What happens at the seam, by a real run: the documented middleware of express-rate-limit and of Tollgate in two
// Express servers, asked over HTTP, with a clock that this program sets.
import { Agent, request } from 'node:http'
import { createLimiter, memoryStore, rateLimit } from '@tollgate/express'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'

export const QUOTA = 100
export const MINUTE_MS = 60_000
/** Each burst is this many requests, evenly over this time: the first ends where the minute does, the second begins there. */
export const BURST = 150
export const BURST_MS = 2000

/** A whole minute, so that windows by the clock and by the first request are the same. */
const START = Date.UTC(2030, 0, 1, 12)

/** When requests are sent, in ms since the minute began. The first one begins the window. */
const TIMES = [
  0,
  ...Array.from({ length: 2 * BURST }, (_, i) => MINUTE_MS - BURST_MS + ((i + 0.5) * BURST_MS) / BURST),
]

/** @returns {Promise<Record<'theirs' | 'ours', { at: number, passed: boolean }[]>>} by the time of the request in ms */
export async function runSeam() {
  const clock = { now: START }
  const limiter = createLimiter({
    limit: `${QUOTA}/min`,
    store: memoryStore({ now: () => clock.now }),
  })
  const realNow = Date.now
  // express-rate-limit reads this clock alone.
  Date.now = () => clock.now
  try {
    return {
      theirs: await ask(expressRateLimit({ windowMs: MINUTE_MS, limit: QUOTA }), clock),
      ours: await ask(rateLimit({ limiter }), clock),
    }
  } finally {
    Date.now = realNow
    await limiter.close()
  }
}

async function ask(middleware, clock) {
  const app = express()
  app.use(middleware)
  app.get('/', (req, res) => res.send('hello'))
  const server = app.listen(0, '127.0.0.1')
  const agent = new Agent({ keepAlive: true })
  try {
    await new Promise((listens) => server.once('listening', listens))
    const answers = []
    for (const at of TIMES) {
      clock.now = START + at
      answers.push({ at, passed: (await statusOf(server.address().port, agent)) === 200 })
    }
    return answers
  } finally {
    agent.destroy()
    server.close()
  }
}

function statusOf(port, agent) {
  return new Promise((resolve, reject) => {
    const sent = request({ port, agent, host: '127.0.0.1' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    sent.once('error', reject).end()
  })
}
