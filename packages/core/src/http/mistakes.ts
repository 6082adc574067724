import type { Warn } from '../base/warnings.js'

const TWICE = `One request has passed the same rateLimit(...) twice and was counted twice, such as by app.use(limit) and \
app.use('/login', limit). Mount it once. Where a route is to have a limit of its own, give it one: \
rateLimit({ limiter: limit.limiter, group: 'login', limit: '5/min' })`

/** Warns once when a request passes the same middleware twice. */
export class MountWatch {
  #isTold = false

  metAgain(warn: Warn): void {
    if (this.#isTold) return
    this.#isTold = true
    warn('TOLLGATE_MOUNTED_TWICE', TWICE)
  }
}

const IN_HANDLER = `rateLimit(...) is called for each request, so each one has a limiter and counts of its own, and none \
is ever limited. Call it once, outside of the handler: const limit = rateLimit({...}); app.get('/', limit, handler)`

/** How many limiters of this process were made inside a handler and have not seen a second request. */
let unused = 0
let isTold = false

/**
 * Detects a limiter that is made inside a request handler: it gets its first request in the same tick in which it was
 * made. There can be a reason to make one limiter so, for example in a test, or when it is kept for later requests. So
 * the warning comes only when there are two such limiters that have seen no second request.
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
    if (unused < 2 || isTold) return
    isTold = true
    warn('TOLLGATE_MADE_IN_HANDLER', IN_HANDLER)
  }
}
