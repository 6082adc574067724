// What became of each process's requests for each tenant.

/** Tenants of which less than this was let in are over their plan, and share it. */
const OVER = 0.95
/** Of processes that ask for a tenant less often than this a second, chance says more than anybody's leases. */
const FEWEST_PER_SECOND = 10

/** A lease that serves nothing for so long is held by nobody, or by nobody who needs it. */
const IDLE_MS = 100

export class Ledger {
  asked = 0
  allowed = 0
  leased = 0
  /** By tenant: what each process got, and when units in advance were served last, and before that by another process. */
  #shares = new Map()
  #now
  #fewest

  /** @param now returns the time in ms; @param seconds how long it will be kept */
  constructor(now, seconds) {
    this.#now = now
    this.#fewest = FEWEST_PER_SECOND * seconds
  }

  served({ id }, process, isAllowed, isLeased) {
    this.asked += 1
    if (isAllowed) this.allowed += 1
    if (isLeased) this.leased += 1
    const { shares: tenant, last } = this.#tenant(id)
    const now = this.#now()
    const share = tenant.get(process) ?? { asked: 0, allowed: 0, denials: 0, since: 0, without: 0 }
    tenant.set(process, share)
    share.asked += 1
    if (isAllowed) share.allowed += 1
    share.denials = isAllowed ? 0 : share.denials + 1
    // Since when others have served units in advance, without a break.
    const since = last.by === process ? last.beforeSince : last.since
    const until = last.by === process ? last.before : last.at
    if (share.denials === 1) share.since = now
    if (share.denials > 1) share.without = Math.max(share.without, until - Math.max(share.since, since))
    if (isLeased) noteServed(last, process, now)
  }

  /** @returns of the tenants that are over their plan */
  get figures() {
    const over = [...this.#shares.values()]
      .map(({ shares }) => [...shares.values()])
      .filter((shares) => sumOf(shares, 'allowed') < OVER * sumOf(shares, 'asked'))
    const busy = over
      .map((shares) => shares.filter(({ asked }) => asked >= this.#fewest))
      .filter(({ length }) => length > 1)
    const fairness = busy.map((shares) => jain(shares.map(({ allowed, asked }) => allowed / asked)))
    return {
      tenantsOver: over.length,
      fairness: meanOf(fairness),
      leastFair: Math.min(...fairness, 1),
      withoutMs: Math.max(0, ...busy.flat().map(({ without }) => without)),
    }
  }

  #tenant(id) {
    const known = this.#shares.get(id)
    if (known) return known
    const tenant = {
      shares: new Map(),
      last: { at: -Infinity, since: 0, by: undefined, before: -Infinity, beforeSince: 0 },
    }
    this.#shares.set(id, tenant)
    return tenant
  }
}

/** A process served a unit that it had in advance. */
function noteServed(last, by, now) {
  if (last.by !== by) Object.assign(last, { by, before: last.at, beforeSince: last.since })
  if (now - last.at > IDLE_MS) last.since = now
  last.at = now
}

/** Jain's index: 1 when all have the same, 1 / n when one has all. */
export function jain(values) {
  const sum = values.reduce((a, b) => a + b, 0)
  const squares = values.reduce((a, b) => a + b * b, 0)
  return squares === 0 ? 1 : sum ** 2 / (values.length * squares)
}

const sumOf = (shares, figure) => shares.reduce((sum, one) => sum + one[figure], 0)
const meanOf = (values) => (values.length === 0 ? 1 : values.reduce((a, b) => a + b, 0) / values.length)
