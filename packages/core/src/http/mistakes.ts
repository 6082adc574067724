import { isSilent, type Warn } from '../base/warnings.js'
import type { HttpAdapter } from './adapter.js'

const TWICE = `A request passed rateLimit(...) twice and was counted twice in the same counters, for example by \
app.use(limit) and app.use('/login', limit), or by two rateLimit({ limiter }). Mount it once. If a route costs \
more, or has limits of its own, write that at the route: limit.route({ cost: 10 }), limit.route({ stacked: { login: '5/min' } })`

/** Limiters that were warned about. Not kept by middleware, since there may be a middleware for each request. */
const warnedOfTwice = new WeakSet<object>()

/** Warns that requests pass a limiter twice. Once for each limiter. */
export function warnOfCountedTwice(limiter: object, warn: Warn): void {
  if (warnedOfTwice.has(limiter)) return
  warnedOfTwice.add(limiter)
  warn('TOLLGATE_MOUNTED_TWICE', TWICE)
}

const IN_HANDLER = `rateLimit(...) is called for each request, so each request has its own limiter and counts, and \
none is ever limited. Call it once, outside the handler: const limit = rateLimit({...}); app.get('/', limit, handler)`

/** How many limiters of this process were created inside a handler and have not seen a second request. */
let unused = 0
/** Fewer such limiters can be intended: each made once, at the first request of its route, or in a test. */
const MOST_LAZY = 10
let hasWarned = false

/**
 * Detects a limiter that is created inside a request handler: it gets its first request in the tick in which it was
 * created. Warns when there are ten that have seen only one request.
 */
export class MakingWatch {
  #state: 'new' | 'made for a request' | 'fine' = 'new'

  constructor() {
    queueMicrotask(() => {
      if (this.#state === 'new') this.#state = 'fine'
    })
  }

  met(warn: Warn): void {
    if (this.#state === 'fine') return
    if (this.#state === 'made for a request') {
      this.#state = 'fine'
      unused -= 1
      return
    }
    this.#state = 'made for a request'
    unused += 1
    if (unused < MOST_LAZY || hasWarned || isSilent(warn)) return
    hasWarned = true
    warn('TOLLGATE_MADE_IN_HANDLER', IN_HANDLER)
  }
}

/** The frameworks that were warned about. Kept per process, since all limiters depend on the same setting. */
const warnedOfProxy = new Set<string>()
const warnedOfTrust = new Set<string>()

/**
 * Warns of two wrong settings, each once per process. If the framework does not trust the proxy in front, all clients
 * behind it count as one. If it trusts every proxy, clients can choose their address and are never limited.
 */
export function warnOfProxy<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { header, trustsProxy, trustsAll, framework, trustSetting } = adapter
  if (isSilent(warn)) return
  if (warnedOfProxy.has(framework) && warnedOfTrust.has(framework)) return
  if (!(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
  if (!trustsProxy(req)) {
    if (warnedOfProxy.has(framework)) return
    warnedOfProxy.add(framework)
    const problem = `A request has a forwarded header, but ${framework} trusts no proxy at its address, so all clients behind that proxy count as one.`
    const remedy = `If there is a proxy, trust it, for example with ${trustSetting}. If not, a client made the header up.`
    warn('TOLLGATE_PROXY', `${problem} ${remedy}`)
  } else if (!warnedOfTrust.has(framework) && trustsAll?.(req)) {
    warnedOfTrust.add(framework)
    const problem = `${framework} trusts every proxy, so a client that makes up an X-Forwarded-For header for each request is never limited by its address.`
    const remedy = `Set how many proxies you have, or their networks, such as ${trustSetting}.`
    warn('TOLLGATE_TRUST', `${problem} ${remedy}`)
  }
}
