import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { RateLimitOptions } from '@tollgate/core'
import type { ServedByNode } from '../served.ts'
import type { ServedRoute } from './routes/route-contract.ts'

/**
 * What a test needs from its application. `Req` differs between frameworks, so these options use only what all have.
 */
export interface ServeOptions {
  readonly options: RateLimitOptions<AnyRequest, never>
  /** The framework's setting to trust one proxy. */
  readonly trustProxy?: boolean
  /** Awaited by the application before the limiter runs, like the loading of a session. */
  readonly before?: (req: AnyRequest) => Promise<void>
  /** Options of further limiters, which run after the first one. */
  readonly more?: readonly ServeOptions['options'][]
  /** Makes the body of `GET /` in place of the default. `at` is the object on which the framework keeps decisions. */
  readonly look?: (req: AnyRequest, at: Readonly<Record<string, unknown>>) => object
  /**
   * Makes the answer of `GET /`, in place of `look`: an object, or a stream. With undefined the response is its own, as
   * of a socket that was upgraded.
   *
   * @param raw Node's response
   */
  readonly handle?: (req: AnyRequest, raw: ServerResponse) => Promise<object | Readable | undefined>
  /** Further routes, by GET and POST, which answer as `GET /` does, in upper case and with a slash at the end, too. */
  readonly routes?: readonly ServedRoute[]
  /** Called for each request that reaches `GET /`. */
  readonly onHandled?: () => void
  /** Awaited by `GET /` before it answers, after `onHandled`. */
  readonly hold?: () => Promise<void>
  /** Called for each error that reaches the application's error handler, which answers with a 500. */
  readonly onError?: (error: unknown) => void
}

/** The parts that requests of all frameworks have. */
export interface AnyRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly ip?: string | undefined
  readonly socket: Socket
}

/**
 * Serves an application behind the limiter: `GET /` answers `{ "ok": true, "decision": the request's decision }`,
 * `GET /error` throws an error.
 */
export type Serve = (options: ServeOptions) => Promise<ServedByNode>
