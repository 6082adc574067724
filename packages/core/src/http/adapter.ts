import type { Decision } from '../decision.js'

/**
 * What a framework must say so that core can do the rest: the whole of what differs between frameworks. One
 * constant of small functions; no object is made per request.
 */
export interface HttpAdapter<Req, Res> {
  readonly framework: string
  /** How one tells this framework which proxies to trust, for a warning. */
  readonly trustSetting: string
  /** A request header, by its lower-case name. */
  header(req: Req, name: string): string | undefined
  /** The client's address, by the framework's own trust-proxy setting. */
  ip(req: Req): string | undefined
  /** Whether that setting is on. */
  trustsProxy(req: Req): boolean
  /** Puts the decision where the application finds it. */
  attach(req: Req, decision: Decision): void
  /** Whether the response has begun, so that headers can no longer be set. */
  isSent(res: Res): boolean
  setHeader(res: Res, name: string, value: string): void
  /** Sends a response of core's own. */
  end(res: Res, status: number, contentType: string, body: string): void
}
