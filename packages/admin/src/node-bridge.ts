import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Dashboard } from './dashboard.js'

/** How often a stream sees whether its server closes, in ms. */
const LOOK_MS = 500

/** Where a request is, for a host on Node. */
export interface Place<Req> {
  /** The host's own request. */
  readonly host: Req
  /** Where the dashboard is mounted, without a slash at the end. */
  readonly base: string
  /** Behind that, with the query. */
  readonly url: string
  /** What the host has read of the body; undefined if it has read nothing. */
  readonly body?: unknown
}

/** Answers a request of Node's server. Never rejects. */
export async function answerNode<Req>(
  dashboard: Dashboard<Req>,
  [req, res]: readonly [IncomingMessage, ServerResponse],
  { host, base, url, body }: Place<Req>,
): Promise<void> {
  try {
    const [path = ''] = url.split('?')
    const request = toRequest(req, url, body)
    const asking = { host, base, peer: req.socket.remoteAddress }
    await send(await dashboard.answer(request, path, asking), req, res)
  } catch {
    // The client has left, or sends what no request can be made of.
    if (!res.headersSent) res.writeHead(400)
    res.end()
  }
}

function toRequest(req: IncomingMessage, url: string, body: unknown): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // Those of HTTP/2 that begin with a colon are none.
    if (value !== undefined && !name.startsWith(':')) headers.set(name, String(value))
  }
  const { ':authority': authority } = req.headers
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority)
  const { method = 'GET' } = req
  const where = `http://dashboard${url.startsWith('/') ? url : `/${url}`}`
  if (method !== 'POST') return new Request(where, { method, headers })
  return new Request(where, { method, headers, body: bodyOf(req, body), duplex: 'half' } as RequestInit)
}

/** The body, also if a parser of the host has read it already. Otherwise it is read once somebody who may wants it. */
function bodyOf(req: IncomingMessage, parsed: unknown): unknown {
  if (typeof parsed === 'string') return parsed
  if (Buffer.isBuffer(parsed)) return parsed.toString()
  if (req.readableEnded) return JSON.stringify(parsed) ?? ''
  return Readable.toWeb(req)
}

async function send(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.statusCode = response.status
  for (const [name, value] of response.headers) res.setHeader(name, value)
  // Nobody wants the rest of what is still sent.
  if (!req.readableEnded && req.method === 'POST' && req.httpVersionMajor < 2)
    res.setHeader('Connection', 'close')
  if (!response.body || req.method === 'HEAD') {
    await response.body?.cancel()
    res.end()
    return
  }
  res.flushHeaders()
  const body = Readable.fromWeb(response.body as never)
  const { server } = req.socket as { readonly server?: { readonly listening: boolean } }
  // A server that closes waits for its answers, and a stream has no end of its own.
  const ending = setInterval(() => server?.listening === false && body.destroy(), LOOK_MS).unref()
  try {
    await pipeline(body, res)
  } finally {
    clearInterval(ending)
  }
}
