import { NEVER, type Usage } from '../../algorithms/implementation.js'
import type { AccountEntry, Booked, CountedWindow } from '../account.js'
import type { Outcome, SubRequest } from '../contract.js'
import {
  type Account,
  type BookableEntry,
  book,
  hasBookings,
  isBookedOn,
  NO_ACCOUNT,
} from './beside/account.js'
import {
  closedOf,
  closingOf,
  lateOf,
  runningOf,
  withClosed,
  withLargerQuota,
  withOpen,
  withoutStale,
} from './beside/billed-windows.js'
import { LoadedLimits } from './loaded-limits.js'
import type { PreparedLimit } from './prepared-limit.js'

/** The limits of one subject with what was booked on them. */
export class BookedLimits extends LoadedLimits {
  protected account: Account = NO_ACCOUNT
  /** Windows that are over, and are not yet kept as such. */
  #closing: Account = NO_ACCOUNT
  #now = 0

  /**
   * While the client waits for another limit, a top-up may end, or a short month begin. Then its limit makes the client wait, too.
   *
   * @param parts what was asked of each of the subjects, which have begun to answer
   */
  static lengthen(subjects: readonly BookedLimits[], parts: readonly SubRequest[]): void {
    const asked = parts.map((part, i) => [subjects[i] as BookedLimits, part] as const)
    const canChange = ([{ account, limits }]: (typeof asked)[number]): boolean =>
      account.length > 0 || limits.some(({ algorithm }) => algorithm.short)
    if (!asked.some(canChange)) return
    const all = asked.flatMap(([{ limits, outcomes }, { cost }]) =>
      limits.map((limit, i) => ({ limit, cost, outcome: outcomes[i] as (typeof outcomes)[number] })),
    )
    if (all.some(({ outcome }) => outcome.wait === NEVER)) return
    const counting = all.filter(({ limit }) => !limit.isInFlight)
    let longest = Math.max(0, ...counting.map(({ outcome }) => outcome.wait))
    for (let isLater = longest > 0; isLater;) {
      isLater = false
      for (const { limit, cost, outcome } of counting) {
        const wait = limit.waitFrom(cost, longest)
        if (wait !== longest) outcome.wait = wait
        if (wait === NEVER) return
        if (wait > longest) isLater = true
        longest = wait
      }
    }
  }

  /** Adds the top-ups of an account to the limits. */
  protected attach(account: Account, now: number): void {
    this.account = account
    if (!hasBookings(account)) return
    for (const limit of this.limits) limit.attach(account, now)
    for (const limit of this.limits) limit.payWith(this.limits)
  }

  /** The account with what the limits have used of it. */
  protected settledAccount(): Account {
    const { account } = this
    if (!hasBookings(account)) return account
    return this.limits.reduce((settled, limit) => limit.settled(settled), account)
  }

  /** Finds windows that are over. Called once all is loaded. */
  protected readClosed(now: number): void {
    const { account } = this
    this.#now = now
    this.#closing = account.length === 0 ? NO_ACCOUNT : closingOf(account, this.limits, now)
    for (const limit of this.limits) if (limit.overage || account.length > 0) limit.noteUnits()
  }

  /**
   * The account as it is kept: with the windows that limits with overage count in, and counted in before.
   *
   * @param ttlUs how long the states are kept
   */
  protected accountToKeep(ttlUs: number): Account {
    const { limits } = this
    const now = this.#now
    let account = withoutStale(withClosed(this.settledAccount(), this.#closing), limits, now)
    for (const limit of limits) {
      if (limit.overage) account = withOpen(account, limit, { now, ttlUs })
      else if (account.length > 0 && !this.#hasOverageBeside(limit)) account = withLargerQuota(account, limit)
    }
    return account
  }

  /** Books an entry on one of the limits, once for its id, or says what the limit has counted. */
  enterEntry(entry: AccountEntry, now: number): Pick<Outcome, 'booked' | 'usage'> {
    const { kind } = entry
    if (kind !== 'usage') return { booked: this.#book({ ...entry, kind }, now) }
    const limit = this.limits[entry.limit] as PreparedLimit
    const running = this.#isBilled(limit) ? runningOf(this.account, limit) : limit.running()
    return { booked: 'repeated', usage: { running, closed: this.#closedOf(limit) } }
  }

  #closedOf(limit: PreparedLimit): CountedWindow | undefined {
    return this.#isBilled(limit) ? closedOf(this.account, this.#closing, limit) : undefined
  }

  /** Whether its windows are those that are billed: a cap beside a limit with overage counts the same units. */
  #isBilled(limit: PreparedLimit): boolean {
    return limit.overage || !this.#hasOverageBeside(limit)
  }

  /** Whether a limit with overage of the same window is in the set. */
  #hasOverageBeside({ keptId }: PreparedLimit): boolean {
    return this.limits.some((other) => other.overage && other.keptId === keptId)
  }

  override force(used: readonly (readonly Usage[])[]): number[] {
    const bounds = new Map<number, number>()
    for (const [i, limit] of this.limits.entries()) {
      const own = used[i] ?? []
      if (!limit.overage || own.length === 0) continue
      const before = { closed: this.#closedOf(limit), account: this.account }
      const { boundUs, closing } = lateOf(before, own, limit, this.#now)
      bounds.set(limit.keptId, boundUs)
      if (closing) this.#closing = [...this.#closing.filter(({ id }) => id !== closing.id), closing]
    }
    return super.force(bounds.size === 0 ? used : used.map((own, i) => this.#withoutLate(own, i, bounds)))
  }

  /** What is billed with a window that is over begins no other: for all limits of this window, it is older than a window. */
  #withoutLate(own: readonly Usage[], i: number, bounds: ReadonlyMap<number, number>): readonly Usage[] {
    const { keptId, windowUs } = this.limits[i] as PreparedLimit
    const boundUs = bounds.get(keptId) ?? -Infinity
    const isLate = ({ ageUs }: Usage): boolean => this.#now - ageUs < boundUs
    return own.some(isLate)
      ? own.map((one) => (isLate(one) ? { ...one, ageUs: Math.max(one.ageUs, windowUs) } : one))
      : own
  }

  #book(entry: BookableEntry, now: number): Booked {
    const limit = this.limits[entry.limit] as PreparedLimit
    const { booked, account } = book(this.settledAccount(), entry, limit, now)
    if (booked !== 'booked') return booked
    const { keptId } = limit
    // All limits of this window count the same units.
    const isOfWindow = (one: PreparedLimit): boolean => one.keptId === keptId
    for (const one of this.limits) {
      if (entry.kind === 'renewal' && isOfWindow(one)) one.load(one.unused(), now, now)
      const { algorithm: own, state, params: ofOne } = one
      if (entry.kind === 'penalty' && isOfWindow(one))
        own.force(state, [{ units: entry.units, ageUs: 0 }], ofOne)
      else own.take(state, 0, ofOne)
    }
    if (entry.kind === 'topUp') this.#reattach(account, now, undefined)
    else if (entry.kind === 'renewal') this.#reattach(withoutOpen(account, limit), now, keptId)
    else this.account = account
    return booked
  }

  /** As `attach`, once the limits have changed: one of them may begin a new window. */
  #reattach(account: Account, now: number, renewedId: number | undefined): void {
    this.account = account
    for (const limit of this.limits) {
      limit.detach()
      limit.attach(account, now, limit.keptId === renewedId)
    }
    for (const limit of this.limits) limit.payWith(this.limits)
    this.countLeased(now)
  }
}

/** What was counted before a renewal is not billed. */
function withoutOpen(account: Account, limit: PreparedLimit): Account {
  return account.filter((entry) => entry.kind !== 'open' || !isBookedOn(entry, limit))
}
