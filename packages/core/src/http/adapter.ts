import type { MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import type { Limiter } from '../limiter/limiter.js'
import type { Look } from '../limiter/look.js'
import type { Subject } from '../plans/subject.js'
import type { RouteOptions } from './options.js'

/** A response that Tollgate sends instead of the application. */
export interface HttpDenial {
  /** 429, 503 or 403. */
  readonly status: number
  /** The media type of `body`. */
  readonly contentType: string
  readonly body: string
  /** The denial that caused this response. */
  readonly decision: Decision
}

/**
 * How a response ended: it was sent completely, or it was aborted because the connection closed first. `status` is
 * undefined if nothing was answered: the client left earlier, or a WebSocket or the like took the connection over.
 */
export type ResponseEnd =
  | { readonly isAborted: false; readonly status: number }
  | { readonly isAborted: true; readonly status: number | undefined }

/**
 * Connects Tollgate to a framework: everything that differs between frameworks. Each adapter package has one constant of
 * this type. Its functions take the request as an argument, so that no object is allocated per request.
 */
export interface HttpAdapter<Req, Res> {
  /** The framework's name, for warnings: `Express`. */
  readonly framework: string
  /** How users add the limiter to an application, for error messages: `app.use(rateLimit({ limit: '100/min' }))`. */
  readonly mounting?: string
  /**
   * Names of the properties that this framework's requests have besides Node's own. A decision stored there would
   * overwrite them.
   */
  readonly taken?: readonly string[]
  /** How users set which proxies this framework trusts, for warnings: `app.set('trust proxy', 1)`. */
  readonly trustSetting: string
  /** The method in upper case. */
  method(req: Req): string
  /** A request header, by its lower-case name. */
  header(req: Req, name: string): string | undefined
  /** The client's address, as found by the framework with its trust-proxy setting. */
  ip(req: Req): string | undefined
  /** Whether the client has disconnected. Its address can no longer be read then. */
  hasLeft(req: Req): boolean
  /** Whether the framework trusts the proxy that sent this request. */
  trustsProxy(req: Req): boolean
  /** Whether the framework trusts every proxy, so that clients can choose their address. Leave it out if this is not known. */
  trustsAll?(req: Req): boolean
  /** The pattern of the request's route, such as `/items/:id`, if the framework knows it already. Never the URL. */
  route?(req: Req): string | undefined
  /**
   * Stores the decision where the application can read it.
   *
   * @param property the option `requestProperty`: `rateLimit` by default
   */
  attach(req: Req, decision: Decision, property: string): void
  /** Whether the headers have been sent, so that none can be added. */
  isSent(res: Res): boolean
  /** The value of a response header that is set already. */
  getHeader(res: Res, name: string): string | undefined
  setHeader(res: Res, name: string, value: string): void
  /** Removes a response header. Does nothing if it is not set. */
  removeHeader(res: Res, name: string): void
  /** Presets the status of a response, which the application can still change. Returns the status that it had before. */
  setStatus(res: Res, status: number): number
  /** Sends an answer. May throw instead, if the framework passes denials to an error handler. */
  end(res: Res, answer: HttpDenial): void
  /** Sends what `onDenied` returned, unless it has answered already. Leave it out if handlers do not return their answers. */
  sendReturned?(res: Res, returned: unknown): void
  /** Calls the listener once, when the response was sent or its connection closed. */
  onEnd(res: Res, listener: (end: ResponseEnd) => void): void
}

/** Who makes a request, without a decision on it. */
export interface Looked {
  /** The one that pays. */
  readonly subject: Subject
  /** The list that it is on. Then its limits do not matter. */
  readonly list: 'allowList' | 'blockList' | undefined
  /** Whether the limits are a plan with a name, and the option `namePlan` lets clients know it. */
  readonly namePlan: boolean
  /** Where its limits stand. Takes nothing. Rejects if the store does not answer. */
  see(): Promise<Look>
}

/** The limiter behind an adapter, made by `createHttpLimiter`. */
export interface HttpLimiter<Req, Res> {
  /** The limiter that counts: the one from the options, or one that was made from them. */
  readonly limiter: Limiter
  /** Whether subjects are client addresses only, so that a decision needs no authentication. */
  readonly isByAddress: boolean
  /** Whether subjects can be known by more than their address. */
  readonly knowsWho: boolean
  /**
   * Decides a request: true to continue, false if it was answered with a denial or its client has left. If `identify`,
   * `cost`, `skip` or another function from the options throws, this throws or rejects with the same error.
   */
  admit(req: Req, res: Res): MaybePromise<boolean>
  /** Who makes a request, known by more than its address, and where its limits stand. Undefined if nobody is known. */
  look(req: Req): Promise<Looked | undefined>
  /**
   * Makes the same limiter for one route. The route's options override those of this limiter, and its stacked limits are
   * added. If this limiter has let a request in already, the route takes only what is missing. If that does not fit, the
   * request is denied, and everything that it took goes back.
   *
   * @param path where the user wrote the options, for errors: `config.rateLimit`
   * @throws {ConfigError} when an option is wrong
   */
  route(own: RouteOptions<Req, Res>, path?: string): HttpLimiter<Req, Res>
}
