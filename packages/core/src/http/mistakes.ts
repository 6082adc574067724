import { isSilent, type Warn } from '../base/warnings.js'

const TWICE = `One request has passed rateLimit(...) twice and was counted twice in the same counters, such as by \
app.use(limit) and app.use('/login', limit), or by two of rateLimit({ limiter }). Mount it once. Where a route is to cost \
more, or to have limits of its own, say so there: limit.route({ cost: 10 }), limit.route({ stacked: { login: '5/min' } })`

/** Limiters that were warned of. Not kept by middleware, since there may be a middleware for each request. */
const told = new WeakSet<object>()

/** Warns once a limiter that requests meet it again. */
export function warnOfCountedTwice(limiter: object, warn: Warn): void {
  if (told.has(limiter)) return
  told.add(limiter)
  warn('TOLLGATE_MOUNTED_TWICE', TWICE)
}

const IN_HANDLER = `rateLimit(...) is called for each request, so each one has a limiter and counts of its own, and none \
is ever limited. Call it once, outside of the handler: const limit = rateLimit({...}); app.get('/', limit, handler)`

/** How many limiters of this process were made inside a handler and have not seen a second request. */
let unused = 0
/** Fewer such limiters can be intended: made at the first request of a route, or in a test, and kept. */
const MOST_LAZY = 10
let isTold = false

/**
 * Detects a limiter that is made inside a request handler: it gets its first request in the same tick in which it was
 * made. The warning comes with the tenth that has seen a single request.
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
    if (unused < MOST_LAZY || isTold || isSilent(warn)) return
    isTold = true
    warn('TOLLGATE_MADE_IN_HANDLER', IN_HANDLER)
  }
}
