import { OUTSIDE_CALENDAR } from '../../../algorithms/implementation.js'
import { StoreError, reasonOf } from '../../../base/errors.js'
import { foreignText, withoutCredentials, shorten } from '../../../base/show.js'
import type {
  Answer,
  BlockOutcome,
  Booked,
  CountedWindow,
  HoldOutcome,
  LeaseOutcome,
  LimitOutcome,
  LimitUsage,
  RefundAnswer,
  StoreRequest,
} from '../../contract.js'
import { REACTIONS, type Reaction } from '../reactions.js'

/** Stands in for an answer when the calendar that was sent does not include Redis's time. Nothing was taken or changed. */
export const OUTSIDE = Symbol('outside the calendar')

/** A script's reply as a list: first Redis's time, then the answers. */
export function readReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply) && reply.length > 0) return reply
  // Clients can be set to return texts as buffers.
  const numbers = typeof reply === 'string' || Buffer.isBuffer(reply) ? numbersIn(String(reply)) : []
  if (numbers.length > 0) return numbers
  throw new StoreError(
    'Redis did not answer the script with a list: check that it is Redis 6.2 or newer, or Valkey',
    { reason: 'protocol' },
  )
}

const [BLANK, MINUS, ZERO] = [32, 45, 48]

/** The whole numbers of a text that has a blank after each; none if the text has anything else. */
function numbersIn(text: string): number[] {
  const numbers: number[] = []
  let number = 0
  let sign = 1
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === BLANK) {
      numbers.push(sign * number)
      number = 0
      sign = 1
    } else if (code === MINUS) sign = -1
    else if (code >= ZERO && code <= ZERO + 9) number = number * 10 + code - ZERO
    else return []
  }
  return numbers
}

/**
 * @param answered how the reply is ordered: for each key, its requests as indices in the batch. The script answers a key's
 *                 requests up to the first denial or error, which then also stands for those after it. If denials can block the
 *                 key, only a block stands for them, unless that answer says that it began. Undefined: the reply has
 *                 all requests in the order of the batch
 */
export function readAnswers(
  batch: readonly StoreRequest[],
  reply: readonly unknown[],
  answered: readonly (readonly number[])[] | undefined,
): (Answer | typeof OUTSIDE)[] {
  const reader = new Reader(reply)
  if (!answered) return batch.map((request) => reader.read(request))
  const answers = Array.from<Answer | typeof OUTSIDE>({ length: batch.length })
  for (const indices of answered) {
    reader.isLast = false
    let last: Answer | typeof OUTSIDE = OUTSIDE
    for (const index of indices) {
      if (!reader.isLast) last = reader.read(batch[index] as StoreRequest)
      answers[index] = last
    }
  }
  return answers
}

/**
 * If a limit has units on lease, their number comes first, as this minus the number. All its other numbers are greater. This number
 * itself comes before a block.
 */
const LEASED = -(2 ** 52)

/** Of a limit that observes and that the cost does not fit: this minus the wait. */
const WOULD_WAIT = -(2 ** 51)

/** Of a limit with units beyond its quota: this minus the units. */
const OVER = -(2 ** 50)

/** Of a limit with units left of top-ups: this minus the units. */
const TOPPED_UP = -(2 ** 49)

/** Of a billing window that is short: this minus its quota. All numbers without a meaning of their own are greater. */
const SHORT = -(2 ** 48)

/** What became of an entry, by the script's number for it. */
const BOOKED: Readonly<Record<number, Booked>> = {
  1: 'booked',
  0: 'repeated',
  [-1]: 'other',
  [-2]: 'full',
  [-3]: 'late',
}

const UNTOLD: LimitOutcome = { wait: 0, remaining: 0, reset: 0 }

class Reader {
  /** Whether an answer since this was set to false stands for all that follow: a denial or an error. */
  isLast = false
  readonly #at: number
  readonly #reply: readonly unknown[]
  #next = 1

  constructor(reply: readonly unknown[]) {
    this.#at = Number(reply[0])
    this.#reply = reply
  }

  read(request: StoreRequest): Answer | typeof OUTSIDE {
    const { parts, grant, hold } = request
    const error = errorIn(this.#reply[this.#next])
    if (error) {
      this.#next += 1
      this.isLast = true
      return error
    }
    const limits: LimitOutcome[] = []
    let isOutside = false
    const onlyTells = grant === 'declare' || grant === 'release'
    const hasGranted = grant === 'upTo' || grant === 'force' || grant === 'lease'
    for (const { set } of parts) {
      const block = set.blockAfter && this.#readBlock()
      for (let i = 0; i < set.limits.length; i += 1) {
        const isSlots = i === set.inFlightIndex
        const read = isSlots || !onlyTells ? this.#readLimit(hasGranted) : UNTOLD
        const outcome = block ? { ...read, block } : read
        if (outcome.wait === OUTSIDE_CALENDAR) isOutside = true
        if (isOutside || (outcome.wait !== 0 && !set.blockAfter)) this.isLast = true
        limits.push(isSlots ? { ...outcome, reset: 0, slot: outcome.reset } : outcome)
      }
    }
    const lease = grant === 'lease' ? this.#readLease() : undefined
    const held = hold && this.#readHold()
    const wasBlocked = grant === 'unblock' ? this.#number() === 1 : undefined
    const booked = grant === 'account' ? BOOKED[this.#number()] : undefined
    const usage =
      request.grant === 'account' && request.entry.kind === 'usage' ? this.#readUsage() : undefined
    if (isOutside) return OUTSIDE
    if (booked !== undefined)
      return usage ? { at: this.#at, limits, booked, usage } : { at: this.#at, limits, booked }
    if (held && limits.every(({ wait }) => wait === 0)) return { at: this.#at, limits, hold: held }
    if (wasBlocked !== undefined) return { at: this.#at, limits, wasBlocked }
    return lease ? { at: this.#at, limits, lease } : { at: this.#at, limits }
  }

  /** Of the part that comes next; undefined if it is not blocked. */
  #readBlock(): BlockOutcome | undefined {
    if (Number(this.#reply[this.#next]) !== LEASED) return undefined
    this.#next += 1
    const endsInUs = this.#number()
    const level = this.#number()
    if (level < 0) return { endsInUs, level: -level, isNew: true }
    this.isLast = true
    return { endsInUs, level }
  }

  #readLease(): LeaseOutcome {
    return { endsInUs: this.#number(), isKnown: this.#number() === 1 }
  }

  #readUsage(): LimitUsage {
    return { running: this.#readWindow(), closed: this.#readWindow() }
  }

  #readWindow(): CountedWindow | undefined {
    const [units, over, startUs, endUs] = [this.#number(), this.#number(), this.#number(), this.#number()]
    return endUs === 0 ? undefined : { units, over, startUs, endUs }
  }

  #readHold(): HoldOutcome {
    return { delayUs: this.#number(), endsInUs: this.#number() }
  }

  #readLimit(hasGranted: boolean): LimitOutcome {
    const beside = this.#readBeside()
    let remaining = this.#number()
    let wait = 0
    // If the cost does not fit, the reply has -1 - remaining, and then the wait.
    if (remaining < 0) {
      remaining = -1 - remaining
      wait = this.#number()
    }
    const reset = this.#number()
    const outcome: LimitOutcome = hasGranted
      ? { wait, remaining, reset, granted: this.#number() }
      : { wait, remaining, reset }
    return beside ? { ...outcome, ...beside } : outcome
  }

  /** What comes before the numbers of a limit; undefined for most. */
  #readBeside(): Partial<LimitOutcome> | undefined {
    const isAny = (below: number): boolean => Number(this.#reply[this.#next]) < below
    if (!isAny(SHORT)) return undefined
    const leased = isAny(LEASED) ? { leased: LEASED - this.#number() } : undefined
    const wouldWait = isAny(WOULD_WAIT + 2) ? { wouldWait: WOULD_WAIT - this.#number() } : undefined
    const over = isAny(OVER) ? { over: OVER - this.#number() } : undefined
    const toppedUp = isAny(TOPPED_UP) ? { toppedUp: TOPPED_UP - this.#number() } : undefined
    const short = isAny(SHORT) ? { shortQuota: SHORT - this.#number() } : undefined
    return { ...leased, ...wouldWait, ...over, ...toppedUp, ...short }
  }

  #number(): number {
    return Number(this.#reply[this.#next++])
  }
}

export function readRefunds(reply: readonly unknown[]): (RefundAnswer | typeof OUTSIDE)[] {
  return reply.slice(1).map((given) => {
    const error = errorIn(given)
    if (error) return error
    return Number(given) === OUTSIDE_CALENDAR ? OUTSIDE : Number(given) === 1
  })
}

/** A request that could not be decided has an error text instead of numbers. */
function errorIn(value: unknown): StoreError | undefined {
  if (typeof value === 'number') return undefined
  // Clients can be set to return numbers as strings, big integers or buffers.
  const text = String(value)
  return /^-?\d+$/.test(text) ? undefined : requestErrorOf(text)
}

/** What a client threw, as a store error. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const { reason, says, isOfRequest = false } = reactionTo(textOf(thrown), UNKNOWN)
  return new StoreError(`${says} (${shortReply(messageOf(thrown))})`, {
    reason,
    isOfRequest,
    cause: causeOf(thrown),
  })
}

/** An error text that a script returned for one request, as a store error. */
export function requestErrorOf(text: string): StoreError {
  const { reason, says, isOfRequest = false } = reactionTo(text, DAMAGED)
  return new StoreError(`${says} (${text})`, { reason, isOfRequest })
}

/** Shortens a server's reply, which can be long. A client's message is kept longer, since it ends with the reason. */
function shortReply(text: string): string {
  return foreignText(/^[A-Z]{2,} /.test(text) ? shorten(text) : text)
}

export function isNoScript(thrown: unknown): boolean {
  return messageOf(thrown).startsWith('NOSCRIPT')
}

type Known = Omit<Reaction, 'matches'>

const UNKNOWN: Known = { reason: 'unknown', says: 'the request to Redis failed' }
/** The other requests of the batch were decided, so the fault is in this key's value. */
const DAMAGED: Known = {
  reason: 'foreign-value',
  says: "this request's key holds a damaged value: delete it",
  isOfRequest: true,
}

function reactionTo(text: string, otherwise: Known): Known {
  return REACTIONS.find(({ matches }) => matches.test(text)) ?? otherwise
}

/**
 * The client's error without secrets, since printing a StoreError prints its cause as well. ioredis puts the failed command's
 * arguments on its errors, such as AUTH's password. If the user passed a URL as the host name, the failed look-up's message
 * contains that URL.
 */
function causeOf(thrown: unknown): unknown {
  if (!isErrorLike(thrown)) return thrown
  const { name, message, stack } = thrown as Error
  const shown = withoutCredentials(message)
  if (shown === message && !('command' in thrown || 'lastNodeError' in thrown)) return thrown
  const cause = Object.assign(new Error(shown), { name })
  if (stack !== undefined) cause.stack = stack.replaceAll(message, shown)
  return cause
}

interface ErrorLike {
  readonly message: string
  readonly code?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: unknown
}

/** Not `instanceof`: errors from other realms and from some clients are not instances of this Error. */
function isErrorLike(thrown: unknown): thrown is ErrorLike {
  return (
    typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string'
  )
}

function messageOf(thrown: unknown): string {
  // A cluster client only says that all servers failed; the error of the last one says why.
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return messageOf(thrown.lastNodeError)
  // For a host with several addresses, the first address's error says most.
  const first: unknown = isErrorLike(thrown) && Array.isArray(thrown.errors) ? thrown.errors[0] : undefined
  if (isErrorLike(first) && first.message !== '') return first.message
  const said = isErrorLike(thrown) ? thrown.message : reasonOf(thrown)
  return said === '' ? codeOf(thrown) : said
}

/** An error's code, or else its class: for errors without a message. */
function codeOf(thrown: unknown): string {
  if (!isErrorLike(thrown)) return ''
  return typeof thrown.code === 'string' ? thrown.code : (thrown.constructor?.name ?? '')
}

/** The text that reactions match against. Some errors have no message and are known by their code or class. */
function textOf(thrown: unknown): string {
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return textOf(thrown.lastNodeError)
  return `${codeOf(thrown)} ${messageOf(thrown)}`
}
