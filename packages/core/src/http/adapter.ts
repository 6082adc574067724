import type { Decision } from '../limiter/decision.js'

/** An answer of core's own, in place of the application's. */
export interface HttpAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** Why: a decision that is not allowed. */
  readonly decision: Decision
}

/** How a response ended. */
export interface ResponseEnd {
  readonly status: number
  /** The connection closed before all of the response was sent. */
  readonly isAborted: boolean
}

/**
 * What a framework must say so that core can do the rest: the whole of what differs between frameworks. One
 * constant of small functions; no object is made per request.
 */
export interface HttpAdapter<Req, Res> {
  readonly framework: string
  /** How one puts the limiter into an application, for errors: `app.use(rateLimit({ limit: '100/min' }))`. */
  readonly mounting?: string
  /** What requests of this framework have of their own, beyond Node's: a decision put there would break them. */
  readonly taken?: readonly string[]
  /** How one tells this framework which proxies to trust, for a warning. */
  readonly trustSetting: string
  /** In upper case. */
  method(req: Req): string
  /** A request header, by its lower-case name. */
  header(req: Req, name: string): string | undefined
  /** The client's address, by the framework's own trust-proxy setting. */
  ip(req: Req): string | undefined
  /** Whether the client has left: it has no address any more. */
  hasLeft(req: Req): boolean
  /** Whether that setting is on. */
  trustsProxy(req: Req): boolean
  /** Whether it trusts every proxy there is, so that a client chooses its address. Left out: not known. */
  trustsAll?(req: Req): boolean
  /** The pattern of the request's route, such as `/items/:id`, where it is known by now; never the URL itself. */
  route?(req: Req): string | undefined
  /**
   * Puts the decision where the application finds it.
   *
   * @param property under which name: `rateLimit`, unless the user chose another
   */
  attach(req: Req, decision: Decision, property: string): void
  /** Whether the response has begun, so that headers can no longer be set. */
  isSent(res: Res): boolean
  /** A response header that was set before. */
  getHeader(res: Res, name: string): string | undefined
  setHeader(res: Res, name: string, value: string): void
  /** Sends a response of core's own. May throw, where the framework has its own road for errors. */
  end(res: Res, answer: HttpAnswer): void
  /** Tells once when the response is over, sent or cut off. */
  onEnd(res: Res, listener: (end: ResponseEnd) => void): void
}
