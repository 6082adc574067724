// What an application itself saw, for the suite to judge by: its own clock, before and after the limiter.
import { performance } from 'node:perf_hooks'

/** ms since 1970, to fractions, so that processes of one machine can compare. */
export const now = () => performance.timeOrigin + performance.now()

export class Journal {
  /** One of each request: who, when it came, how long until its answer was given, the status, what decided. */
  entries = []
  /** What the limiter told of its breaker. */
  breaker = []
  storeErrors = {}
  #sources = new WeakMap()

  note = (request, decision) => void this.#sources.set(request, decision.source)

  /** Before whatever the framework does, which is part of what a client waits for. */
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

  /** @returns whether the limiter has a breaker to tell of */
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
