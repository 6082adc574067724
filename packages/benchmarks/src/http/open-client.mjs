// The client of the section on shedding, in a process of its own: requests that leave when they are due, whatever the
// answers do, at random distances. A request without an answer after a second is given up.
import { Agent, request } from 'node:http'
import { randomOf } from '../kit/random.mjs'
import { answerMessages } from '../kit/children.mjs'

const PATIENCE_MS = 1000
/** The beginning of a load is not counted, in ms. */
const WARM_UP_MS = 500
/** What part of the requests has which plan. */
const SHARES = { free: 0.7, starter: 0.2, pro: 0.1 }

answerMessages(run)

/** @param {{ port: number, perSecond: number, ms: number, seed: number }} load */
async function run({ port, perSecond, ms, seed }) {
  const random = randomOf(seed)
  const agent = new Agent({ keepAlive: true })
  const tallies = Object.fromEntries(Object.keys(SHARES).map((plan) => [plan, newTally()]))
  const open = []
  const start = performance.now()
  let due = 0
  while (due < WARM_UP_MS + ms) {
    due += (-Math.log(1 - random()) * 1000) / perSecond
    const plan = planAt(random())
    const wait = start + due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const tally = due < WARM_UP_MS ? newTally() : tallies[plan]
    open.push(send({ port, plan, agent, dueAt: start + due }, tally))
  }
  await Promise.all(open)
  agent.destroy()
  return { plans: tallies, seconds: ms / 1000 }
}

const newTally = () => ({ sent: 0, good: 0, refused: 0, lost: 0, delays: [] })

function planAt(share) {
  let sum = 0
  return Object.keys(SHARES).find((plan) => (sum += SHARES[plan]) > share) ?? 'pro'
}

function send({ port, plan, agent, dueAt }, tally) {
  tally.sent += 1
  return new Promise((resolve) => {
    const asked = request({ port, host: '127.0.0.1', agent, headers: { 'x-plan': plan } })
    const timer = setTimeout(() => asked.destroy(new Error('late')), PATIENCE_MS)
    const end = (count) => {
      clearTimeout(timer)
      count()
      resolve()
    }
    asked.once('response', (response) => {
      response.resume()
      response.once('end', () => end(() => note(tally, response.statusCode, performance.now() - dueAt)))
      response.once('error', () => end(() => (tally.lost += 1)))
    })
    asked.once('error', () => end(() => (tally.lost += 1)))
    asked.end()
  })
}

function note(tally, status, tookMs) {
  if (status === 503) tally.refused += 1
  else if (status !== 200) throw new Error(`An answer ${status}`)
  else if (tookMs > PATIENCE_MS) tally.lost += 1
  else {
    tally.good += 1
    tally.delays.push(tookMs)
  }
}
