import { StoreError } from '../../../base/errors.js'
import { elapsedMs } from '../../../base/timers.js'
import { CLOSED_AT_ONCE, LOST } from '../reactions.js'
import { storeErrorOf } from '../wire/decode.js'
import type { Emitter, FaultListener } from './port.js'

/** How long a client's error counts as the cause of later ones, in ms: longer than the client waits between two attempts. */
const CAUSE_MS = 10_000

interface Cause {
  readonly error: StoreError
  readonly untilMs: number
}

/** The client events that put its errors in context. */
export interface ClientEvents {
  /** The client sends commands from now on. */
  readonly ready: string
  /** The client has a connection, but does not know yet whether Redis accepts it. */
  readonly connected?: string
}

/**
 * Listens to a client's errors. Without a listener, some clients print them and others end the process. Tollgate warns its users
 * itself. A command's error often says only that there is no connection. What the client reported while it connected is the cause.
 */
export class ClientFaults {
  readonly #listeners = new Set<FaultListener>()
  /** By server. '' stands for the whole client. */
  readonly #causes = new Map<string, Cause>()
  #wasReady: boolean
  #isGreeting = false

  constructor(client: Emitter, { ready, connected }: ClientEvents, isReady: boolean) {
    this.#wasReady = isReady
    if (connected !== undefined) client.on(connected, () => (this.#isGreeting = true))
    client.on(ready, () => {
      this.#wasReady = true
      this.#isGreeting = false
      this.forget()
    })
    client.on('error', (thrown) => {
      const error = this.note(thrown)
      if (!this.#wasReady) for (const listener of this.#listeners) listener(error)
    })
  }

  /** Reports what keeps the client from connecting, until it has connected once. Returns a function that stops it. */
  observe(listener: FaultListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Remembers a client's error. One that says only that a connection was lost does not replace one that says more.
   *
   * @param server the server's address; '' for the whole client
   * @returns      the cause, as far as it is known
   */
  note(thrown: unknown, server = ''): StoreError {
    const said = storeErrorOf(thrown)
    const isCut = this.#isGreeting && isLost(said)
    this.#isGreeting = false
    const known = this.cause(server)
    if (isLost(said) && known && !isLost(known)) return known
    const error = isCut
      ? new StoreError(`${CLOSED_AT_ONCE} (${said.message})`, { reason: 'unreachable' })
      : said
    this.#causes.set(server, { error, untilMs: elapsedMs() + CAUSE_MS })
    return error
  }

  /** Called when a server answers. */
  forget(server = ''): void {
    this.#causes.delete(server)
  }

  /** Why a command failed: the client's own fault, if the command's error says less. */
  errorOf(thrown: unknown, server = ''): StoreError {
    const error = storeErrorOf(thrown)
    return isLost(error) ? (this.cause(server) ?? error) : error
  }

  /** The fault of a cluster's server that is not connected. */
  unreachable(server: string): StoreError {
    const cause = this.#causeAt(server)
    const why = cause && !isLost(cause) ? `: ${cause.message}` : '; the client reconnects by itself'
    const { reason = 'unreachable' } = cause ?? {}
    return new StoreError(`the Redis at ${server} cannot be reached${why}`, { reason, cause })
  }

  /** Why a server cannot be used, if that is known. For the whole client, the fault of any of its servers is better than none. */
  cause(server = ''): StoreError | undefined {
    const own = this.#causeAt(server)
    if (server !== '' || (own && !isLost(own))) return own
    for (const each of this.#causes.keys()) {
      const cause = this.#causeAt(each)
      if (cause && !isLost(cause)) return cause
    }
    return own
  }

  #causeAt(server: string): StoreError | undefined {
    const cause = this.#causes.get(server)
    return cause && cause.untilMs > elapsedMs() ? cause.error : undefined
  }
}

function isLost({ message }: StoreError): boolean {
  return message.startsWith(LOST)
}
