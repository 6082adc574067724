import { NEVER, type Usage } from '../../algorithms/implementation.js'
import type { AccountEntry, Booked, CountedWindow } from '../account.js'
import type { Outcome, SubRequest } from '../contract.js'
import { type Account, type BookableEntry, book, closedOf, NO_ACCOUNT, withClosed } from './beside/account.js'
import { LoadedLimits } from './loaded-limits.js'
import type { PreparedLimit } from './prepared-limit.js'

/** The limits of one subject with what was booked on them. */
export class BookedLimits extends LoadedLimits {
  protected account: Account = NO_ACCOUNT

  /**
   * A top-up may end while the client waits for another limit. Then its limit makes the client wait, too.
   *
   * @param parts what was asked of each of the subjects, which have begun to answer
   */
  static lengthen(subjects: readonly BookedLimits[], parts: readonly SubRequest[]): void {
    const asked = parts.map((part, i) => [subjects[i] as BookedLimits, part] as const)
    if (asked.every(([{ account }]) => account.length === 0)) return
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
    if (account.length === 0) return
    for (const limit of this.limits) limit.attach(account, now)
    for (const limit of this.limits) limit.payWith(this.limits)
  }

  /** The account with what the limits have used of it. */
  protected settledAccount(): Account {
    const { account } = this
    if (account.length === 0) return account
    return this.limits.reduce((settled, limit) => limit.settled(settled), account)
  }

  protected readClosed(): void {
    for (const limit of this.limits) {
      limit.readClosed(this.account)
      // Units that were counted late are in what is kept.
      const kept = limit.closed && closedOf(this.account, limit, this.#nthOf(limit))
      if (kept && kept.endUs === limit.closed?.endUs) limit.closed = kept
    }
  }

  /** Whether a limit has closed a window since it was written. */
  protected get hasClosed(): boolean {
    for (const { closed } of this.limits) if (closed) return true
    return false
  }

  /** The account as it is kept: with what limits counted in windows that are over. */
  protected accountToKeep(now: number): Account {
    let account = this.settledAccount()
    for (const limit of this.limits) {
      const { closed, keptId } = limit
      if (!closed) continue
      account = withClosed(
        account,
        closed,
        { keptId, windowUs: windowOf(limit), nth: this.#nthOf(limit) },
        now,
      )
    }
    return account
  }

  /** Books an entry on one of the limits, once for its id, or says what the limit has counted. */
  enterEntry(entry: AccountEntry, now: number): Pick<Outcome, 'booked' | 'usage'> {
    const { kind } = entry
    if (kind !== 'usage') return { booked: this.#book({ ...entry, kind }, now) }
    const limit = this.limits[entry.limit] as PreparedLimit
    return { booked: 'repeated', usage: { running: limit.running(), closed: this.#closedOf(limit) } }
  }

  /** What a limit counted in its latest window that is over. */
  #closedOf(limit: PreparedLimit): CountedWindow | undefined {
    if (limit.closed) return limit.closed
    const before = closedOf(this.account, limit, this.#nthOf(limit))
    return before && limit.isRecent(before.endUs) !== false ? before : undefined
  }

  override force(used: readonly (readonly Usage[])[]): number[] {
    for (const [i, limit] of this.limits.entries()) {
      const own = used[i] ?? []
      if (limit.overage && own.length > 0) limit.closeLate(own, this.#closedOf(limit))
    }
    return super.force(used)
  }

  /** How many limits with overage of its window are in front of it. */
  #nthOf(limit: PreparedLimit): number {
    const before = this.limits.slice(0, this.limits.indexOf(limit))
    return before.filter(({ overage, keptId }) => overage && keptId === limit.keptId).length
  }

  #book(entry: BookableEntry, now: number): Booked {
    const limit = this.limits[entry.limit] as PreparedLimit
    const { keptId, overage } = limit
    const windowUs = windowOf(limit)
    const { booked, account } = book(this.settledAccount(), entry, { keptId, windowUs, overage }, now)
    if (booked !== 'booked') return booked
    // All limits of this window count the same units.
    const isOfWindow = (one: PreparedLimit): boolean => one.keptId === keptId
    for (const one of this.limits) {
      if (entry.kind === 'renewal' && isOfWindow(one)) one.renew(now)
      const { algorithm: own, state, params: ofOne } = one
      if (entry.kind === 'penalty' && isOfWindow(one))
        own.force(state, [{ units: entry.units, ageUs: 0 }], ofOne)
      else own.take(state, 0, ofOne)
    }
    if (entry.kind === 'penalty') this.account = account
    else this.#reattach(account, now, entry.kind === 'renewal' ? keptId : undefined)
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

/** How long the window of a limit is, in µs. */
function windowOf({ algorithm, params }: PreparedLimit): number {
  return algorithm.windowUs?.(params) ?? algorithm.countsForUs(params)
}
