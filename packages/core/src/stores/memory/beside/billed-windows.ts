import { unitsThatFit, type Usage, type WindowUnits } from '../../../algorithms/implementation.js'
import type { CountedWindow } from '../../account.js'
import type { PreparedLimit } from '../prepared-limit.js'
import { isBookedOn, paidOn, withPaidLonger, type Account, type KeptEntry } from './account.js'

/**
 * What limits with overage count in a window is billed. So the account says of each window that runs what its quota is: `open`. Once it is
 * over, what exceeds that is kept, whatever plan the subject has by then: `closed`. The twin of usage.lua in stores/redis/scripts/beside:
 * change both, law 5 (one truth) compares them.
 */

/** Windows are entries under their own ids. */
function idOf(kind: 'open' | 'closed', { keptId, nth }: Pick<KeptEntry, 'keptId' | 'nth'>): string {
  return `${kind} ${keptId} ${nth}`
}

/** The latest entry about a limit. */
function entryOf(
  account: Account,
  kind: 'open' | 'closed',
  limit: PreparedLimit,
  nth = limit.nth,
): KeptEntry | undefined {
  return account.findLast((one) => one.kind === kind && one.nth === nth && isBookedOn(one, limit))
}

/**
 * The account with the quota of a limit in its window of now, if it counts units now: what goes back or is charged late says nothing of
 * the plan that this window is used on.
 *
 * @param ttlUs how long the state is kept
 */
export function withOpen(
  account: Account,
  limit: PreparedLimit,
  { now, ttlUs }: { readonly now: number; readonly ttlUs: number },
): Account {
  const known = entryOf(account, 'open', limit)
  const { algorithm, keptId, nth, planQuota } = limit
  const isSame = known !== undefined && known.atUs > now && known.left >= planQuota
  if ((isSame && algorithm.before) || !limit.hasCounted()) return account
  const running = limit.running()
  if (!running || (isSame && known.atUs === running.endUs)) return account
  // The largest quota of the window: what a plan or a rule allowed for a while is not billed.
  const left = known?.atUs === running.endUs ? Math.max(known.left, planQuota) : planQuota
  const entry: KeptEntry = {
    ...{ kind: 'open', id: idOf('open', { keptId, nth }), says: '', keptId, nth, left, used: 0 },
    ...{ atUs: running.endUs, endsUs: now + ttlUs },
  }
  return [...withPaidLonger(account, limit).filter((_, i) => account[i] !== known), entry]
}

/** A plan that covers what was used in its window leaves nothing to be billed. Called for a limit that no limit with overage is beside. */
export function withLargerQuota(account: Account, limit: PreparedLimit): Account {
  const { planQuota: left } = limit
  const endUs = limit.running()?.endUs
  const isCovered = (entry: KeptEntry): boolean =>
    entry.kind === 'open' && entry.atUs === endUs && entry.left < left && isBookedOn(entry, limit)
  if (!account.some(isCovered) || !limit.hasCounted()) return account
  return account.map((entry) => (isCovered(entry) ? { ...entry, left } : entry))
}

/** The account without open windows that are over. Called once those are closed in which units are left. */
export function withoutStale(account: Account, limits: readonly PreparedLimit[], now: number): Account {
  const isStale = (entry: KeptEntry): boolean =>
    entry.kind === 'open' && entry.atUs <= now && limits.some((limit) => isBookedOn(entry, limit))
  return account.some(isStale) ? account.filter((entry) => !isStale(entry)) : account
}

/** Until when the state of a limit is kept to be billed, also where another plan was the last to write it; 0 if it is not. */
export function openUntil(account: Account, limit: PreparedLimit): number {
  let untilUs = 0
  for (const entry of account)
    if (entry.kind === 'open' && isBookedOn(entry, limit)) untilUs = Math.max(untilUs, entry.endsUs)
  return untilUs
}

/** The windows of an account that are over by now, as they are to be kept. */
export function closingOf(account: Account, limits: readonly PreparedLimit[], now: number): Account {
  return account.flatMap((open) => {
    const limit = open.kind === 'open' ? limits.find((one) => isBookedOn(open, one)) : undefined
    const window = limit && closedWindow(limit)
    // What was counted since by requests that open nothing is not billed.
    if (!limit || !window || open.atUs !== window.endUs) return []
    // After the clock has gone back, a window can end twice.
    const known = entryOf(account, 'closed', limit, open.nth)
    if (known?.atUs === window.endUs && known.left >= window.units) return known
    const over = Math.max(window.units - open.left - paidOn(account, limit), 0)
    return closedEntry({ ...window, over }, open, now + limit.windowUs)
  })
}

/** The latest window in which a limit counted units, if that is over, but not for a whole window. */
function closedWindow(limit: PreparedLimit): WindowUnits | undefined {
  const { algorithm, state, params, last, now } = limit
  const closed = algorithm.closed?.(state, last, params)
  if (!closed) return undefined
  // A window that the next request begins is not over before it has begun: the latest one is kept for as long as it was.
  return (isRecent(limit, closed.endUs) ?? now < 2 * closed.endUs - closed.startUs) ? closed : undefined
}

/** Whether no whole window has passed since the end of one; undefined where windows begin with requests. */
function isRecent({ algorithm, params, now }: PreparedLimit, endUs: number): boolean | undefined {
  return algorithm.isRecent?.(endUs, now, params)
}

function closedEntry(
  { units, over, startUs, endUs }: CountedWindow,
  { keptId, nth }: Pick<KeptEntry, 'keptId' | 'nth'>,
  endsUs: number,
): KeptEntry {
  const id = idOf('closed', { keptId, nth })
  // As Redis keeps it, in whole ms.
  const says = String(Math.floor(startUs / 1000) * 1000)
  const numbers = { atUs: endUs, left: units, used: over, endsUs: Math.ceil(endsUs) }
  return { kind: 'closed', id, says, keptId, nth, ...numbers }
}

/** The account with windows that are over. They can still be in it as open: see `withoutStale`. */
export function withClosed(account: Account, closing: Account): Account {
  if (closing.length === 0) return account
  const ids = new Set(closing.map(({ id }) => id))
  return [...account.filter(({ id }) => !ids.has(id)), ...closing]
}

/** What a limit counts in its window of now. What exceeds the quota is said as it would be billed if the window ended now. */
export function runningOf(account: Account, limit: PreparedLimit): CountedWindow | undefined {
  const running = limit.running()
  if (!running) return undefined
  const open = entryOf(account, 'open', limit)
  if (open?.atUs !== running.endUs) return { ...running, over: 0 }
  return { ...running, over: Math.max(running.units - open.left - paidOn(account, limit), 0) }
}

/** What was counted in the window before that of now, with overage. The limit can be of another plan. */
export function closedOf(
  account: Account,
  closing: Account,
  limit: PreparedLimit,
): CountedWindow | undefined {
  const own = entryOf(closing, 'closed', limit)
  const entry = own ?? entryOf(account, 'closed', limit)
  if (!entry || (!own && isRecent(limit, entry.atUs) === false)) return undefined
  const { left: units, used: over, atUs: endUs, says } = entry
  return { units, over, startUs: Number(says), endUs }
}

/** Units that were used in a window that is over, and are counted only now. */
export interface Late {
  /** Units of before are not of the window of now. In µs. */
  readonly boundUs: number
  /** The window that is over, with them: they are billed with it. Undefined if none of them belongs to it. */
  readonly closing: KeptEntry | undefined
}

/** @param before what the window that is over counted without them, and the account as it was loaded: it can still have its quota */
export function lateOf(
  { closed, account }: { readonly closed: CountedWindow | undefined; readonly account: Account },
  used: readonly Usage[],
  limit: PreparedLimit,
  now: number,
): Late {
  const { params, windowUs, planQuota } = limit
  const times = used.map(({ units, ageUs }) => ({ units, at: now - ageUs }))
  const { boundUs, startUs, endUs } = lateWindow(limit, closed, Math.min(...times.map(({ at }) => at)), now)
  const sum = times.reduce((all, { units, at }) => (at >= startUs && at < boundUs ? all + units : all), 0)
  if (sum === 0) return { boundUs, closing: undefined }
  const { units: counted, over } = closed ?? { units: 0, over: 0 }
  const units = unitsThatFit(sum, counted)
  const { whole = planQuota } = params as { readonly whole?: number }
  const open = entryOf(account, 'open', limit)
  const quota = open?.atUs === endUs ? open.left : whole
  const slack = over > 0 ? 0 : Math.max(quota - counted, 0)
  const window = { startUs, endUs, units: counted + units, over: over + Math.max(units - slack, 0) }
  return { boundUs, closing: closedEntry(window, limit, now + windowUs) }
}

/** The window that late units are of, and the time before which units are late. */
function lateWindow(
  limit: PreparedLimit,
  closed: CountedWindow | undefined,
  oldest: number,
  now: number,
): { readonly boundUs: number; readonly startUs: number; readonly endUs: number } {
  const { algorithm, state, params, windowUs } = limit
  const running = limit.running()
  if (algorithm.before) {
    const [startUs, endUs] = closed
      ? [closed.startUs, closed.endUs]
      : (algorithm.before(state, params) ?? [Infinity, Infinity])
    return { boundUs: running?.startUs ?? 0, startUs, endUs }
  }
  if (closed) return { ...closed, boundUs: Math.min(closed.endUs, running?.startUs ?? Infinity) }
  // No other window is known, so the oldest of them began one. What is not older than a window counts in the one of now.
  const endUs = oldest + windowUs
  const boundUs = running ? Math.min(endUs, now - windowUs) : endUs <= now ? endUs : oldest
  return { startUs: oldest, endUs, boundUs }
}
