// A client of the API that remembers, of each request, when it was sent and answered, and how.
import { Agent, get } from 'node:http'

const agent = new Agent({ keepAlive: true })

export class Tenant {
  /** What of each request came back: { sentAt, answeredAt, status }, times in ms. */
  log = []
  remaining = ''

  constructor(name, url, key) {
    this.name = name
    this.url = url
    this.key = key
  }

  get allowed() {
    return this.log.filter(({ status }) => status === 200).length
  }

  get limited() {
    return this.log.filter(({ status }) => status === 429).length
  }

  /** Requests that got neither. */
  get failed() {
    return this.log.length - this.allowed - this.limited
  }

  /** This many requests at the same time; resolves with those that passed. */
  async burst(count) {
    const statuses = await Promise.all(Array.from({ length: count }, () => this.#request()))
    return statuses.filter((status) => status === 200).length
  }

  /** One request every so often, for a time. */
  async steady(everyMs, forMs) {
    const until = performance.now() + forMs
    const pending = []
    while (performance.now() < until) {
      pending.push(this.#request())
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    await Promise.all(pending)
  }

  #request() {
    const sentAt = performance.now()
    return new Promise((resolve) => {
      const done = (status) => {
        this.log.push({ sentAt, answeredAt: performance.now(), status })
        resolve(status)
      }
      const request = get(this.url, { agent, headers: { 'x-api-key': this.key } }, (response) => {
        this.remaining = response.headers['ratelimit-remaining'] ?? ''
        response.resume()
        response.once('end', () => done(response.statusCode))
      })
      request.once('error', () => done(0))
    })
  }

  static disconnect() {
    agent.destroy()
  }
}
