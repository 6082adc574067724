import type { Decision, DecisionSource, DenialReason } from '../../limiter/decision/decision.js'
import { lastBack } from '../../limiter/decision/denial.js'

/** What is said of a denial in few bytes. */
export interface DeniedFacts {
  /** In ms since 1970. */
  readonly atMs: number
  readonly reason: DenialReason
  /** What made the decision. */
  readonly source: DecisionSource
  /** Set if a rule had changed the limits. */
  readonly override?: true
  /** Whom the request counted against. A long id is cut off, and ends with `…`; so are plan, limit and `limitOf`. */
  readonly subject: string
  readonly plan: string
  /** The limit that denied: of several, the one that is back last. Left out if it was none. */
  readonly limit?: string
  /** Whose limit it is, of a request with several subjects. Left out if it is that of `subject`. */
  readonly limitOf?: string
  /** Units that the request asked for, that were used, and the quota. The last two are left out where they were not known. */
  readonly cost: number
  readonly used?: number
  readonly quota?: number
  /** After how many ms the same request would have passed if no other took units; null if never. */
  readonly waitMs: number | null
}

// What is written is their position: new ones come at the end.
const REASONS = [
  'quota-exceeded',
  'cost-exceeds-quota',
  'store-unavailable',
  'blocked',
  'overloaded',
] as const satisfies readonly DenialReason[]
const SOURCES = [
  'store',
  'place',
  'lease',
  'cache',
  'unlimited',
  'blocked',
  'list',
  'rule',
  'shed',
  'local',
  'open',
  'closed',
] as const satisfies readonly DecisionSource[]
const OVERRIDE = 128
/** In a text's length: it was cut off. */
const CUT = 128
const TIME_BYTES = 6
/** Of a plan, a limit and whose that is. What is left is the subject's. */
const MOST_NAME = 24

/**
 * 1 byte: reason, with 128 if a rule had changed the limits; 1 byte: source; 6 bytes: time in ms; then numbers of 7 bits a byte, each but
 * its last with 128: cost, used + 1 (0: not known), quota, wait in ms + 1 (0: never); then texts in UTF-8, each after its length: limit,
 * plan, subject and, if that is another subject, whose limit it is.
 */
export function packDenial(decision: Decision, nowMs: number, mostBytes: number): Uint8Array {
  const { reason = 'quota-exceeded', source, override, cost, plan, retryAfterMs } = decision
  // A decision that was made by hand need not say whose it is.
  const { id = '' } = (decision.subject ?? {}) as Partial<Decision['subject']>
  const { name: limit = '', owner } = lastBack(decision) ?? {}
  const state = [...decision.limits, ...(decision.localLimits ?? [])].find(({ name }) => name === limit)
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(nowMs, 0, TIME_BYTES)
  const wait = retryAfterMs === null ? 0 : Math.ceil(retryAfterMs) + 1
  const numbers = [cost, state ? state.used + 1 : 0, state?.quota ?? 0, wait]
  const parts = [
    Buffer.of(REASONS.indexOf(reason) + (override ? OVERRIDE : 0), Math.max(SOURCES.indexOf(source), 0)),
    ...[time, Buffer.from(numbers.flatMap(bytesOfNumber))],
    ...[bytesOfText(limit, MOST_NAME), bytesOfText(plan ?? '', MOST_NAME)],
  ]
  const left = mostBytes - parts.reduce((sum, { length }) => sum + length, 0)
  // Both ids get something where numbers and names are long.
  const mostOfOwner = Math.min(MOST_NAME, (left >> 1) - 1)
  const limitOf = owner ? bytesOfText(String(owner.id), mostOfOwner) : Buffer.of()
  return Buffer.concat([...parts, bytesOfText(String(id), left - limitOf.length - 1), limitOf])
}

/** The facts of a text that `packDenial` made. */
export function unpackDenial(packed: Uint8Array): DeniedFacts {
  const bytes = Buffer.from(packed)
  const [first = 0, second = 0] = bytes
  const atMs = bytes.readUIntBE(2, TIME_BYTES)
  let at = 2 + TIME_BYTES
  const number = (): number => {
    let [value, times] = [0, 1]
    for (; ; times *= 128) {
      const byte = bytes[at++] ?? 0
      value += (byte % 128) * times
      if (byte < 128) return value
    }
  }
  const text = (): string => {
    const length = bytes[at] ?? 0
    const from = at + 1
    at = from + (length % CUT)
    return bytes.toString('utf8', from, at) + (length >= CUT ? '…' : '')
  }
  const [cost, used, quota, wait] = [number(), number(), number(), number()]
  const [limit, plan, subject] = [text(), text(), text()]
  const limitOf = at < bytes.length ? text() : undefined
  return {
    atMs,
    reason: REASONS[first % OVERRIDE] as DenialReason,
    ...{ subject, plan },
    ...(limit !== '' && { limit }),
    ...(limitOf !== undefined && { limitOf }),
    cost,
    ...(used > 0 && { used: used - 1, quota }),
    waitMs: wait === 0 ? null : wait - 1,
    source: SOURCES[second] as DecisionSource,
    ...(first >= OVERRIDE && { override: true as const }),
  }
}

function bytesOfNumber(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

/** The text after its length, cut off between two characters if it is too long. */
function bytesOfText(text: string, most: number): Buffer {
  const whole = Buffer.from(text)
  if (whole.length <= Math.min(most, CUT - 1)) return Buffer.concat([Buffer.of(whole.length), whole])
  let end = most
  // A byte that continues a character begins with the bits 10.
  while (end > 0 && ((whole[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return Buffer.concat([Buffer.of(CUT + end), whole.subarray(0, end)])
}
