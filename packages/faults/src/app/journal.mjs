// Records each request inside the application, so that the suite judges by its clock, not by that of the clients.
import { performance } from 'node:perf_hooks'

/** @returns ms since 1970 with fractions; comparable between processes of one machine */
export const now = () => performance.timeOrigin + performance.now()

export class Journal {
  /**
   * One for each request: tenant `who`, start `at` (ms since 1970), time to its answer `ms`, `status`, and `source` of
   * the decision, empty when the request did not reach the handler.
   */
  entries = []
  /** Changes of the breaker: `{ at, state, shard }`. */
  breaker = []
  storeErrors = {}
  #sources = new WeakMap()

  note = (request, decision) => void this.#sources.set(request, decision.source)

  /** Its listener runs before the framework's, so that the time in the framework is measured, too. */
  watch(server) {
    server.prependListener('request', (request, response) => {
      const at = now()
      const { end } = response
      response.end = (...args) => {
        response.end = end
        const who = request.headers['x-tenant']
        const source = this.#sources.get(request) ?? ''
        this.entries.push({ who, at, ms: now() - at, status: response.statusCode, source })
        return response.end(...args)
      }
    })
  }

  /** @returns whether the limiter has a breaker */
  listen(limiter) {
    limiter.on('storeError', (error) => {
      this.storeErrors[error.code] = (this.storeErrors[error.code] ?? 0) + 1
    })
    try {
      limiter.on('breaker', ({ state, shard }) => this.breaker.push({ at: now(), state, shard }))
      return true
    } catch {
      return false
    }
  }
}
