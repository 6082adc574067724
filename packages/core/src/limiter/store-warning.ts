import type { StoreError, StoreErrorReason } from '../base/errors.js'
import { elapsedMs } from '../base/timers.js'
import type { Warn } from '../base/warnings.js'
import type { FailurePolicyOption } from '../plans/failure-policy.js'

/** A store that comes and goes is not to fill the log. */
const EVERY_MS = 60_000

/** Says on stderr that the store cannot be asked, why, and what to do: nothing else does, where nobody listens to events. */
export class StoreWarning {
  readonly #warn: Warn
  readonly #clock: () => number
  readonly #until: string
  #nextMs = Number.NEGATIVE_INFINITY
  #isFirst = true

  /** @param clock in ms; for tests */
  constructor(warn: Warn, policy: FailurePolicyOption, clock: () => number = elapsedMs) {
    this.#warn = warn
    this.#clock = clock
    const by = typeof policy === 'function' ? 'a function' : `'${policy}'`
    this.#until = `Until it can be asked again, requests are decided by onStoreFailure: ${by}.`
  }

  /** It could not be connected, and has not been before. Clients try on and on, so this is said once. */
  atStart(error: StoreError): void {
    if (this.#isFirst) this.opened(error)
  }

  /** It was given up. */
  opened({ message, reason }: StoreError): void {
    this.#isFirst = false
    const nowMs = this.#clock()
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + EVERY_MS
    const advice = ADVICE[reason] ?? ''
    this.#warn(
      'TOLLGATE_STORE',
      `The store ${WHAT[reason] ?? 'cannot be used'}: ${withoutSecrets(message)}${advice}. ${this.#until}`,
    )
  }
}

/** What is seen of the store; the cause follows. */
const WHAT: { readonly [Reason in StoreErrorReason]?: string } = {
  unreachable: 'cannot be reached',
  timeout: 'does not answer',
  loading: 'does not answer',
  busy: 'does not answer',
}

/** Where the error itself does not say what to do. */
const ADVICE: { readonly [Reason in StoreErrorReason]?: string } = {
  timeout: '; it hangs, is held up, or is too far away for the deadlineMs of the limiter',
}

/** A malformed address can put a username or password into what a client says. */
function withoutSecrets(text: string): string {
  return text.replace(/[^\s'"(]*@/g, '***@')
}
