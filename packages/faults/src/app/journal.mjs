// What the application sees, as evidence for the suite: by its own clock, before and after the limiter.
import { performance } from 'node:perf_hooks'

/** ms since 1970, with decimals, by a clock that all processes of the machine share. */
export const now = () => performance.timeOrigin + performance.now()

export class Journal {
  /** One per request: tenant, when it came, how long its answer took, status, and what decided. */
  entries = []
  /** The breaker events of the limiter. */
  breaker = []
  storeErrors = {}
  #sources = new WeakMap()

  note = (request, decision) => void this.#sources.set(request, decision.source)

  /** Starts before the framework, since its time is part of what a client waits for. */
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
