// What became of each process's requests for each tenant.

/** Tenants of which less than this was let in are over their plan, and share it. */
const OVER = 0.95
/** A process must ask for so many units of a tenant to count in how fair its share is. */
const FEWEST = 20

export class Ledger {
  asked = 0
  allowed = 0
  leased = 0
  /** By tenant, then by process. */
  #shares = new Map()
  #now

  /** @param now returns the time in ms */
  constructor(now) {
    this.#now = now
  }

  served({ id }, process, isAllowed, isLeased) {
    this.asked += 1
    if (isAllowed) this.allowed += 1
    if (isLeased) this.leased += 1
    const tenant = this.#tenant(id)
    const share = tenant.get(process) ?? { asked: 0, allowed: 0, deniedAt: undefined, without: 0 }
    tenant.set(process, share)
    share.asked += 1
    if (isAllowed) {
      share.allowed += 1
      share.deniedAt = undefined
    } else share.deniedAt ??= this.#now()
    if (isLeased) this.#othersWait(tenant, process)
  }

  /** @returns of the tenants that are over their plan */
  get figures() {
    const over = [...this.#shares.values()]
      .map((tenant) => [...tenant.values()])
      .filter((shares) => sumOf(shares, 'allowed') < OVER * sumOf(shares, 'asked'))
    const busy = over
      .map((shares) => shares.filter(({ asked }) => asked >= FEWEST))
      .filter(({ length }) => length > 1)
    const fairness = busy.map((shares) => jain(shares.map(({ allowed, asked }) => allowed / asked)))
    return {
      tenantsOver: over.length,
      fairness: meanOf(fairness),
      leastFair: Math.min(...fairness, 1),
      withoutMs: Math.max(0, ...over.flat().map(({ without }) => without)),
    }
  }

  #tenant(id) {
    const known = this.#shares.get(id)
    if (known) return known
    const tenant = new Map()
    this.#shares.set(id, tenant)
    return tenant
  }

  /** A process served a unit that it had in advance, while others were denied. */
  #othersWait(tenant, by) {
    for (const [process, share] of tenant) {
      if (process !== by && share.deniedAt !== undefined)
        share.without = Math.max(share.without, this.#now() - share.deniedAt)
    }
  }
}

/** Jain's index: 1 when all have the same, 1 / n when one has all. */
export function jain(values) {
  const sum = values.reduce((a, b) => a + b, 0)
  const squares = values.reduce((a, b) => a + b * b, 0)
  return squares === 0 ? 1 : sum ** 2 / (values.length * squares)
}

const sumOf = (shares, figure) => shares.reduce((sum, one) => sum + one[figure], 0)
const meanOf = (values) => (values.length === 0 ? 1 : values.reduce((a, b) => a + b, 0) / values.length)
