// One simulation: many processes, skewed demand, crashes.
import { SimulatedClock } from './clock.mjs'
import { randomOf, tenantsOf, zipf } from './demand.mjs'
import { Fleet } from './fleet.mjs'
import { Ledger } from './figures.mjs'
import { loadTollgate } from './tollgate.mjs'

/** How much less each next tenant asks for, and each next process of a tenant is asked. */
const TENANT_SKEW = 1.1
const PROCESS_SKEW = 1
const TENANTS = 2000

const clock = new SimulatedClock()
const tollgate = await loadTollgate(clock)

/**
 * @param {object} options
 * @param {number} options.processes
 * @param {number} options.spread    how many processes each tenant's requests go to
 * @param {number} options.perSecond requests of all tenants
 * @param {number} options.seconds
 * @param {number} options.crashesPerSecond
 * @param {boolean} options.lease
 * @param {number} options.seed
 */
export function simulate({ processes, spread, perSecond, seconds, crashesPerSecond, lease, seed }) {
  const random = randomOf(seed)
  const ranks = zipf(TENANTS, TENANT_SKEW)
  const rateOf = (rank) => perSecond * ranks.share(rank)
  const tenants = tenantsOf(TENANTS, { processes, spread, random, rateOf }).map(
    ({ id, limits, isLeasable, places }) => ({
      ...{ id, places },
      request: requestOf(id, tollgate.compilePlan(id, { limits, lease: lease && isLeasable }, `plans.${id}`)),
    }),
  )
  const began = clock.now
  const ledger = new Ledger(() => clock.now, seconds)
  const onServed = (...served) => ledger.served(...served)
  const fleet = new Fleet({ clock, random, tollgate, processes, onServed })
  const which = zipf(Math.min(spread, processes), PROCESS_SKEW)
  const ends = began + seconds * 1000
  // A step of 1 ms, in which requests come at any time.
  for (let now = began; now < ends; now += 1) {
    for (let due = draw((perSecond / 1000) * 1, random); due > 0; due -= 1) {
      const tenant = tenants[ranks.draw(random)]
      const place = tenant.places[which.draw(random)]
      clock.at(now + random(), () => fleet.ask(tenant, place))
    }
    if (random() < crashesPerSecond / 1000) fleet.crash(Math.floor(random() * processes))
    clock.runUntil(now + 1)
  }
  const { commands, renewals, lostToCrashes } = fleet
  fleet.end()
  // What is under way arrives, and counts no more.
  clock.runUntil(clock.now + 10_000)
  const { asked, allowed, leased, figures } = ledger
  return { asked, allowed, leased, ...figures, commands, renewals, lostToCrashes }
}

function requestOf(id, plan) {
  const subject = { id, plan: plan.name }
  const part = {
    key: id,
    set: plan.set,
    cost: 1,
    subject,
    limits: plan.limits,
    planName: plan.name,
    shard: 0,
  }
  return { subject, plan, cost: 1, parts: [part], limits: plan.limits, shard: 0, grant: 'all' }
}

/** How many happen in a step in which `mean` are expected (Poisson, by Knuth; by parts, since e^-mean gets too small). */
function draw(mean, random) {
  let count = 0
  for (let left = mean; left > 0; left -= 30) {
    const least = Math.exp(-Math.min(left, 30))
    for (let product = random(); product > least; product *= random()) count += 1
  }
  return count
}
