import { ConfigError, type Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import { Dashboard } from './dashboard.js'
import { behind, checkOptions, type MountedOptions } from './options.js'
import { problem, secured } from './responses.js'

export type { Authorize, DashboardAction, MountedOptions, Operator } from './options.js'

/** Options for hosts that know no socket: who looks has to be authorized. */
export interface FetchOptions extends MountedOptions<Request> {
  readonly authorize: NonNullable<MountedOptions<Request>['authorize']>
}

/**
 * As `dashboard` of '@tollgate/admin', for hosts that answer a `Request` with a `Response`: Hono, Next, Remix, Deno, Bun.
 *
 * @throws {ConfigError} when an option is wrong, or `authorize` is missing
 * @example
 * const answer = dashboard(limiter, { path: '/_tollgate', authorize: async (request) => adminOf(request) })
 * app.all('/_tollgate/*', (c) => answer(c.req.raw))
 */
export function dashboard(limiter: Limiter, options: FetchOptions): (request: Request) => Promise<Response> {
  atCaller(dashboard, () => {
    checkOptions(limiter, options)
    const expected = "a function that says who may look: (request) => ({ by: 'a name' })"
    if (options.authorize === undefined) throw ConfigError.wrong('authorize', undefined, expected)
  })
  const made = new Dashboard<Request>(limiter, options)
  const base = (options.path ?? '').replace(/\/+$/, '')
  return async (request) => {
    const { pathname, search } = new URL(request.url)
    const url = behind(base, pathname + search)
    if (url === undefined) return secured(problem(404, 'There is no such page.'))
    const [path = ''] = url.split('?')
    return made.answer(request, path, { host: request, peer: undefined, base })
  }
}
