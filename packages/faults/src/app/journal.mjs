// What the application sees, as evidence for the suite: by its own clock, before and after the limiter.

/**
 * ms with decimals, by a clock that all processes of the machine share. Not `performance.timeOrigin`: a process that is held up
 * while it starts has one that is ms off.
 */
export const now = () => Number(process.hrtime.bigint()) / 1e6

export class Journal {
  /** One per request: tenant, when it came, how long its answer took, status, and what decided. */
  entries = []
  /** The breaker events of the limiter. */
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

  /** @returns whether the limiter has breaker events */
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
