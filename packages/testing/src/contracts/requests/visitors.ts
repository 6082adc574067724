import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { eventually } from '../../eventually.ts'
import type { AnyRequest } from '../adapter-contract.ts'

type Made = object | Readable | undefined

/** A request that has reached the application, which has not answered it yet. */
export interface Visit {
  /** Lets the application answer: with an object, a stream, or by its own means. */
  answer(made: Made): void
  /** Node's response. */
  readonly raw: ServerResponse
  readonly response: Promise<Response>
  /** The client leaves. */
  abort(): void
}

/** What a client sends besides. */
type Asking = { readonly headers?: Readonly<Record<string, string>>; readonly method?: string }

/** A request in the application. */
type Reached = Pick<Visit, 'answer' | 'raw'>

/** Clients whose requests stay in the application until the test lets them go. */
export class Visitors {
  readonly #expected = new Map<string, (of: Reached) => void>()
  #last = 0

  /** `handle` of ServeOptions. */
  readonly handle = (req: AnyRequest, raw: ServerResponse): Promise<Made> =>
    new Promise((answer) => this.#expected.get(String(req.headers['x-visit']))?.({ answer, raw }))

  /** A request that the test sends itself, with this id as its header `X-Visit`. */
  expected(): { readonly id: string; readonly reached: Promise<Reached> } {
    const id = String((this.#last += 1))
    return { id, reached: new Promise((resolve) => this.#expected.set(id, resolve)) }
  }

  /** Sends a request. Resolves when it has reached the application, or to the answer if it has none to wait for. */
  async visit(url: string, init: Asking = {}): Promise<Visit | Response> {
    const { id, reached } = this.expected()
    const leaving = new AbortController()
    const headers = { 'x-api-key': 'acme', ...init.headers, 'x-visit': id }
    const response = fetch(url, { ...init, headers, signal: leaving.signal })
    response.catch(() => {})
    const found = await Promise.race([reached, response])
    return found instanceof Response ? found : { ...found, response, abort: () => leaving.abort() }
  }

  /** Sends requests until one has reached the application. */
  async enter(url: string, init?: Asking): Promise<Visit> {
    let found: Visit | undefined
    await eventually(async () => {
      const visit = await this.visit(url, init)
      if (visit instanceof Response) throw new Error(`answered with ${visit.status}`)
      found = visit
    }, 'a request is let in')
    return found as Visit
  }

  /** Sends one request that must be denied. */
  async refused(url: string, init?: Asking): Promise<Response> {
    const visit = await this.visit(url, init)
    if (visit instanceof Response && visit.status === 429) return visit
    throw new Error(`it was ${visit instanceof Response ? `answered with ${visit.status}` : 'let in'}`)
  }
}
