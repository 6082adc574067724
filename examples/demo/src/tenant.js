// A client of the API that remembers, of each request, when it was sent and answered, and how.
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

// Idle connections are closed here before the server closes its end, so that no request meets a closing one.
const agent = new Agent({ keepAlive: true, timeout: 2000 })

export class Tenant {
  /** One entry a request, in the order of the answers: { sentAt, answeredAt, status }, times in ms. */
  log = []
  passed = 0
  limited = 0
  /** What RateLimit-Remaining last said. */
  remaining = ''

  /** @param promise what its plan gives it, for the check */
  constructor({ name, plan, url, key, promise }) {
    Object.assign(this, { name, plan, url, key, promise })
  }

  /** Requests that were neither let through nor limited. */
  get failed() {
    return this.log.length - this.passed - this.limited
  }

  /** This many requests at the same time; resolves with how many passed. */
  async burst(count) {
    const statuses = await Promise.all(Array.from({ length: count }, () => this.#request()))
    return statuses.filter((status) => status === 200).length
  }

  /** So many requests a second for a time. After a hold-up those that are due are sent together. */
  async steady(perSecond, forMs) {
    const started = performance.now()
    const answers = []
    for (let elapsed = 0; elapsed < forMs; elapsed = performance.now() - started) {
      while (answers.length <= (elapsed * perSecond) / 1000) answers.push(this.#request())
      await sleep(5)
    }
    await Promise.all(answers)
  }

  static disconnect() {
    agent.destroy()
  }

  #request() {
    const sentAt = performance.now()
    return new Promise((resolve) => {
      const done = (status) => {
        this.log.push({ sentAt, answeredAt: performance.now(), status })
        if (status === 200) this.passed += 1
        if (status === 429) this.limited += 1
        resolve(status)
      }
      const request = get(this.url, { agent, headers: { 'x-api-key': this.key } }, (response) => {
        this.remaining = response.headers['ratelimit-remaining'] ?? ''
        response.resume()
        response.once('error', () => {})
        done(response.statusCode)
      })
      request.once('error', () => done(0))
    })
  }
}
