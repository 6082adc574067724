import { ConfigError, type Limiter } from '@tollgate/core'
import { needOptions } from '@tollgate/core/adapter'
import type { ChangeKind } from './answers.js'

/** What somebody wants to do: look, or change something. */
export type DashboardAction = 'read' | ChangeKind

/** Who looks or changes something. */
export interface Operator {
  /** A name for people. It is written down with each change: 1 to 200 characters. */
  readonly by: string
}

/** The options of a dashboard. */
export interface DashboardOptions<Req> {
  /**
   * Says who makes a request, or that it may not: anything but `{ by: 'a name' }`, and an error, is answered with 403. Called for each
   * request, and once a minute for each page that follows live figures. A page also has it called for each change, to offer no other.
   *
   * Without it, only a browser on the same machine may look, with the handler's `token`: for development, and for the command line.
   *
   * @param req    the host's own request, such as Express's `req`, Fastify's `request` and Koa's `ctx`
   * @param action `'read'`, or what is changed: `'block'`, `'override'`, `'scale'` and so on
   * @example authorize: (req, action) => req.user?.isAdmin && { by: req.user.name }
   */
  readonly authorize?: Authorize<Req> | undefined
  /** Whether nothing can be changed: changes are answered with 405. Default: false. */
  readonly readOnly?: boolean | undefined
  /**
   * Where browsers see the dashboard, such as `'https://admin.example.com'`, or several. Changes are taken from pages of these origins
   * alone. Default: from pages of the origin that the browser says is the same.
   */
  readonly origin?: string | readonly string[] | undefined
}

/** For hosts that do not say where they have mounted the dashboard. */
export interface MountedOptions<Req> extends DashboardOptions<Req> {
  /** Where it is mounted, such as `'/_tollgate'`. Default: `'/'`, or where Express and koa-mount have mounted it. */
  readonly path?: string | undefined
}

export type Authorize<Req> = (req: Req, action: DashboardAction) => unknown

const NAMES = ['authorize', 'readOnly', 'origin']
const EXAMPLE = '{ authorize: (req) => req.user?.isAdmin && { by: req.user.name } }'

/**
 * @param isMounted whether the host has mounted the dashboard, so that `path` is no option
 * @throws {ConfigError}
 */
export function checkOptions(limiter: unknown, options: unknown, isMounted = false): void {
  if (!isLimiter(limiter))
    throw ConfigError.wrong('limiter', limiter, 'what createLimiter returned, or limit.limiter of rateLimit')
  needOptions(options, { names: isMounted ? NAMES : [...NAMES, 'path'], example: EXAMPLE })
  const { authorize, readOnly, origin, path } = options as MountedOptions<never>
  if (authorize !== undefined && typeof authorize !== 'function')
    throw ConfigError.wrong('authorize', authorize, "a function that returns { by: 'a name' } or nothing")
  if (readOnly !== undefined && typeof readOnly !== 'boolean')
    throw ConfigError.wrong('readOnly', readOnly, 'true or false')
  for (const one of originsOf(origin)) {
    if (!isOrigin(one))
      throw ConfigError.wrong('origin', one, "an origin without a path, such as 'https://admin.example.com'")
  }
  if (path !== undefined && !(typeof path === 'string' && /^\/[\w.~/-]*$/.test(path)))
    throw ConfigError.wrong('path', path, "a path such as '/_tollgate'")
}

export function originsOf(origin: string | readonly string[] | undefined): readonly string[] {
  if (origin === undefined) return []
  return Array.isArray(origin) ? origin : [origin as string]
}

/** What is behind the mount; undefined if the URL is elsewhere. */
export function behind(mount: string, url: string): string | undefined {
  if (!url.startsWith(mount)) return undefined
  const rest = url.slice(mount.length)
  return rest === '' || /^[/?]/.test(rest) ? rest : undefined
}

function isLimiter(given: unknown): given is Limiter {
  return typeof given === 'object' && given !== null && 'traffic' in given && 'health' in given
}

function isOrigin(given: unknown): boolean {
  try {
    return typeof given === 'string' && new URL(given).origin === given
  } catch {
    return false
  }
}
