import { NEVER } from '../../../algorithms/implementation.js'
import type { AccountEntry, Booked } from '../../account.js'

/** An entry as it is kept. Times are in µs. */
export interface KeptEntry {
  readonly kind: BookableEntry['kind'] | 'open' | 'closed'
  readonly id: string
  readonly says: string
  /** The id of its limit's state. */
  readonly keptId: number
  /** Of a window, as in PreparedLimit. */
  readonly nth?: number | undefined
  /** When a top-up or a window ends, or when a renewal was. */
  readonly atUs: number
  /**
   * Units left of a top-up, and units of it that the limit counts in its window. Of an open window: its quota, and 0. Of a closed one: its
   * units, and those beyond the quota.
   */
  readonly left: number
  readonly used: number
  /** When the entry is forgotten. */
  readonly endsUs: number
}

/** What was booked on the limits of a subject, the earliest first. */
export type Account = readonly KeptEntry[]

export const NO_ACCOUNT: Account = []

const MOST_ENTRIES = 64
/** An id counts once for at least seven days. */
const KEPT_US = 7 * 86_400_000_000

/** The entries that are not forgotten. */
export function livingEntries(account: Account, now: number): Account {
  return account.every(({ endsUs }) => endsUs > now) ? account : account.filter(({ endsUs }) => endsUs > now)
}

/** When the last entry is forgotten, in µs: its second has passed then. */
export function endOfAccount(account: Account): number {
  let endsUs = 0
  for (const entry of account) endsUs = Math.max(endsUs, entry.endsUs)
  return endsUs === 0 ? 0 : (Math.floor(endsUs / 1_000_000) + 1) * 1_000_000
}

/** The ids under which entries of a limit are booked. */
export interface BookedIds {
  /** The id of its state. */
  readonly keptId: number
  /** As in CompiledLimit. */
  readonly otherId: number | undefined
}

export function isBookedOn(entry: KeptEntry, { keptId, otherId }: BookedIds): boolean {
  return entry.keptId === keptId || entry.keptId === otherId
}

/** When a limit was renewed last, in µs; 0 if it was not. After the clock has gone back, it is not known what came first. */
export function renewedAt(account: Account, limit: BookedIds, now: number): number {
  const renewals = account.filter((entry) => entry.kind === 'renewal' && isBookedOn(entry, limit))
  return Math.max(0, ...renewals.map(({ atUs }) => atUs).filter((atUs) => atUs <= now))
}

/** An entry that is kept. */
export interface BookableEntry extends AccountEntry {
  readonly kind: Exclude<AccountEntry['kind'], 'usage'>
}

/**
 * The account with one more entry, or why it has none.
 *
 * @param limit the id of its limit's state, how long its window is, in µs, and whether it counts overage
 */
export function book(
  account: Account,
  { kind, id, says, units, end }: BookableEntry,
  limit: BookedLimit,
  now: number,
): { readonly booked: Booked; readonly account: Account } {
  const known = account.find((entry) => entry.id === id)
  if (known) return { booked: known.says === says ? 'repeated' : 'other', account }
  const time = 'at' in end ? end.at : now + end.inUs
  if (kind === 'topUp' && time <= now) return { booked: 'late', account }
  if (account.filter(isOfCaller).length >= MOST_ENTRIES) return { booked: 'full', account }
  const entry: KeptEntry = {
    ...{ kind, id, says, keptId: limit.keptId, atUs: kind === 'topUp' ? time : now },
    ...{ left: kind === 'topUp' ? units : 0, used: 0 },
    endsUs: Math.max(
      now + KEPT_US,
      kind === 'topUp' ? paidUntil(time, limit, account) : 0,
      now + Math.ceil(limit.windowUs),
    ),
  }
  return { booked: 'booked', account: [...account, entry] }
}

interface BookedLimit extends BookedIds {
  readonly windowUs: number
  readonly overage: boolean
}

/** How long it matters what a top-up paid: where the limit is billed, until the window after the last one that it paid in is over. */
function paidUntil(endUs: number, limit: BookedLimit, account: Account): number {
  const isBilled = limit.overage || account.some((one) => one.kind === 'open' && isBookedOn(one, limit))
  return isBilled ? endUs + billedForUs(limit) : endUs
}

/** Two windows, and as much longer as a month can be than another. */
function billedForUs({ windowUs }: Pick<BookedLimit, 'windowUs'>): number {
  return Math.ceil(2.25 * windowUs)
}

/** A limit is billed from now on: so it matters longer what its top-ups paid, also those that were booked before. */
export function withPaidLonger(account: Account, limit: BookedLimit): Account {
  return account.map((entry) => {
    if (entry.kind !== 'topUp' || !isBookedOn(entry, limit)) return entry
    return { ...entry, endsUs: Math.max(entry.endsUs, entry.atUs + billedForUs(limit)) }
  })
}

/** Whether an account has more than windows. */
export function hasBookings(account: Account): boolean {
  return account.some(isOfCaller)
}

function isOfCaller({ kind }: KeptEntry): boolean {
  return kind !== 'open' && kind !== 'closed'
}

/** A new window begins, in which top-ups have paid nothing yet. */
export function withoutPaid(account: Account, ids: BookedIds): Account {
  return account.map((entry) =>
    entry.kind === 'topUp' && isBookedOn(entry, ids) ? { ...entry, used: 0 } : entry,
  )
}

/** What top-ups have paid of what a limit counts. */
export function paidOn(account: Account, ids: BookedIds): number {
  return sumOf(
    account.filter((entry) => entry.kind === 'topUp' && isBookedOn(entry, ids)),
    'used',
  )
}

/** A limit as its top-ups find it. */
export interface Topped {
  readonly ids: BookedIds
  /** Its quota in the plan: in this window, which can be short, and in a whole one. */
  readonly quota: number
  readonly whole: number
  /** What it counts now, before leases enter. */
  readonly count: number
  /** Whether what it counted last is of a window that is over. */
  readonly isNewWindow: boolean
}

/**
 * The top-ups of one limit. With them, the limit can count more in this window: see `quota`. The twin of accounts.lua in
 * stores/redis/scripts/beside: change both, law 5 (one truth) compares them.
 */
export class Pots {
  readonly quota: number
  /** The quota of the plan, and that of a later window. */
  readonly base: number
  readonly #later: number
  /** What the limit counted without top-ups, and how much it can count before they pay. */
  readonly #counted: number
  readonly #own: number
  /** As `own`, of the limit of this window whose top-ups pay first. All of them count the same units. */
  #paysFrom: number
  /** What top-ups paid in this window that have ended since. */
  readonly #spent: number
  readonly #used: number
  readonly #all: number
  /** What the limit counted, with units that were held, before the request. `used` is of these. */
  #total = 0
  /** Those that end first are used first. */
  readonly #living: readonly KeptEntry[]
  readonly #ended: readonly KeptEntry[]

  /** Undefined if the limit has none that matter. */
  static of(account: Account, limit: Topped, now: number): Pots | undefined {
    const own = account.filter((entry) => entry.kind === 'topUp' && isBookedOn(entry, limit.ids))
    if (own.length === 0) return undefined
    const isOver = ({ atUs }: KeptEntry): boolean => atUs <= now
    const living = own.filter((entry) => !isOver(entry)).toSorted((a, b) => a.atUs - b.atUs)
    const ended = own.filter(isOver)
    const isAny = sumOf(living, 'left') + sumOf(living, 'used') + sumOf(ended, 'used') > 0
    return isAny || ended.some(({ left }) => left > 0) ? new Pots(limit, living, ended) : undefined
  }

  private constructor(
    { quota, whole, count, isNewWindow }: Topped,
    living: readonly KeptEntry[],
    ended: readonly KeptEntry[],
  ) {
    // What top-ups paid in a window that is over is no longer in the count.
    const withoutUsed = (entry: KeptEntry): KeptEntry => ({ ...entry, used: 0 })
    this.#living = isNewWindow ? living.map(withoutUsed) : living
    this.#ended = (isNewWindow ? ended.map(withoutUsed) : ended).map((entry) => ({ ...entry, left: 0 }))
    this.base = quota
    this.#later = whole
    this.#spent = sumOf(this.#ended, 'used')
    this.#used = sumOf(this.#living, 'used')
    this.#all = this.#used + sumOf(this.#living, 'left')
    this.#counted = count - this.#used - this.#spent
    this.#own = Math.max(quota, this.#counted)
    this.#paysFrom = this.#own
    this.quota = this.#all + this.#spent > 0 ? this.#own + this.#spent + this.#all : quota
  }

  /** Lets them pay as soon as those of another limit of its window do. */
  payWith(other: Pots): void {
    this.#paysFrom = Math.min(this.#paysFrom, other.#own)
  }

  /** @param counted what the limit counts, with units that are held for use in this window: then top-ups pay others */
  #usedOf(counted: number): number {
    return Math.min(Math.max(counted - this.#paysFrom - this.#spent, 0), this.#all)
  }

  #spentOf(count: number): number {
    return Math.min(Math.max(count - this.#counted, 0), this.#spent)
  }

  /** Units left. */
  left(count: number, held: number): number {
    return this.#all - this.#usedOf(count + held)
  }

  /** Units beyond the quota that no top-up pays. */
  over(count: number, held: number): number {
    return Math.max(count - this.#usedOf(count + held) - this.#spentOf(count) - this.base, 0)
  }

  /**
   * What is left of top-ups that will have ended by then. As the account says it: a denied request leaves the account as it is, so a larger
   * quota has not paid for anything.
   */
  goneBy(timeUs: number): number {
    const ended = this.#living.filter(({ atUs }) => atUs <= timeUs)
    return sumOf(ended, 'left')
  }

  /** The same of those that last longer. */
  lasting(timeUs: number): number {
    return this.#all - this.#used - this.goneBy(timeUs)
  }

  /** For a cost that does not fit: `wait`, unless the quota and what lasts of the top-ups is too little then. */
  wait(cost: number, wait: number, now: number): number {
    return cost > this.#later + this.lasting(now + wait) ? NEVER : wait
  }

  /** Notes what the limit counts before the request. */
  note(count: number, held: number): void {
    this.#total = count + held
  }

  /** The account with what was used since: of the top-up that ends first. What came back fills the last one. */
  settled(account: Account, count: number, held: number): Account {
    let more = this.#usedOf(count + held) - this.#used
    // A larger quota pays for what top-ups have paid once a request takes units on it. A refund can be of another plan or window: it fills top-ups
    // with as many units as it gives back.
    if (count + held <= this.#total) more = Math.max(more, count + held - this.#total)
    let gone = this.#spent - this.#spentOf(count)
    const changed = new Map<string, KeptEntry>()
    for (const entry of more > 0 ? this.#living : this.#living.toReversed()) {
      const units = more > 0 ? Math.min(more, entry.left) : -Math.min(-more, entry.used)
      changed.set(entry.id, { ...entry, left: entry.left - units, used: entry.used + units })
      more -= units
    }
    for (const entry of this.#ended) {
      const units = Math.min(gone, entry.used)
      changed.set(entry.id, { ...entry, used: entry.used - units })
      gone -= units
    }
    return account.map((entry) => changed.get(entry.id) ?? entry)
  }
}

function sumOf(entries: readonly KeptEntry[], field: 'left' | 'used'): number {
  return entries.reduce((sum, entry) => sum + entry[field], 0)
}
