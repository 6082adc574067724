// Every host that can mount a dashboard, behind one face: an application that mounts it at /_tollgate, and a way to ask it.
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Limiter } from '@tollgate/core'
import express from 'express'
import Fastify from 'fastify'
import Koa from 'koa'
import { dashboard as forFastify } from '../src/fastify.js'
import { dashboard as forFetch } from '../src/fetch.js'
import { dashboard } from '../src/index.js'
import { dashboard as forKoa } from '../src/koa.js'
import type { DashboardAction, MountedOptions } from '../src/options.js'

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** An application that has a dashboard. */
export interface Mounted {
  readonly token: () => string | undefined
  /** @param path of the application: `/_tollgate/api/session` */
  ask(path: string, ask?: Ask): Promise<Answer>
  /** The events of a stream, until `count` of them are there. Then the client leaves. */
  follow(path: string, count: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** One function serves all hosts, whose requests differ. */
export interface Options extends Omit<MountedOptions<never>, 'authorize'> {
  readonly authorize?: (req: unknown, action: DashboardAction) => unknown
}
export type Host = (limiter: Limiter, options: Options) => Promise<Mounted>

type Listener = RequestListener

export async function serve(
  listener: Listener,
  token: () => string | undefined = () => undefined,
): Promise<Mounted> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const open = (path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const asked = httpRequest({ host: '127.0.0.1', port, path, method, headers }, resolve)
      asked.once('error', reject)
      asked.end(body)
    })
  return {
    token,
    async ask(path, ask) {
      const res = await open(path, ask)
      const headers = new Headers()
      for (const [name, value] of Object.entries(res.headers)) headers.set(name, String(value))
      return { status: res.statusCode ?? 0, headers, text: await text(res) }
    },
    async follow(path, count) {
      const res = await open(path)
      return eventsOf(res, count, () => res.destroy())
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function eventsOf(
  stream: AsyncIterable<Uint8Array>,
  count: number,
  leave: () => void,
): Promise<readonly string[]> {
  let all = ''
  for await (const chunk of stream) {
    all += Buffer.from(chunk).toString()
    const events = all.split('\n\n').slice(0, -1)
    if (events.length < count) continue
    leave()
    return events
  }
  return all.split('\n\n').slice(0, -1)
}

export const NODE_HOSTS: Readonly<Record<string, Host>> = {
  Express(limiter, options) {
    const app = express()
    const made = dashboard(limiter, options)
    // Behind a parser of the application, too.
    app.use(express.json())
    app.use('/_tollgate', made)
    return serve(app, () => made.token)
  },
  async Fastify(limiter, options) {
    const app = Fastify()
    const { path: _path, ...given } = options
    const made = forFastify(limiter, given)
    await app.register(made, { prefix: '/_tollgate' })
    await app.ready()
    return serve(app.routing as Listener, () => made.token)
  },
  Koa(limiter, options) {
    const app = new Koa()
    app.silent = true
    const made = forKoa(limiter, { path: '/_tollgate', ...options })
    app.use(made)
    return serve(app.callback(), () => made.token)
  },
  Node(limiter, options) {
    const made = dashboard(limiter, { path: '/_tollgate', ...options })
    return serve(made, () => made.token)
  },
}

/** No server: these hosts are where the `Request` comes from. */
const fetchHost: Host = async (limiter, options) => {
  const answer = forFetch(limiter, { path: '/_tollgate', ...options } as never)
  const open = (path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Response> => {
    const given = { host: 'admin.test', ...headers }
    const init = body === undefined ? { method, headers: given } : { method, headers: given, body }
    return answer(new Request(`http://admin.test${path}`, init))
  }
  return {
    token: () => undefined,
    async ask(path, ask) {
      const response = await open(path, ask)
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    async follow(path, count) {
      const { body } = await open(path)
      const left = new AbortController()
      return eventsOf(body as never, count, () => left.abort())
    },
    async close() {},
  }
}

export const HOSTS: Readonly<Record<string, Host>> = { ...NODE_HOSTS, fetch: fetchHost }
