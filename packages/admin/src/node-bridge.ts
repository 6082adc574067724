import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Dashboard } from './dashboard.js'

/** More is no change. */
const LONGEST_BODY = 65_536

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
    const request = await toRequest(req, url, body)
    const asking = { host, base, peer: req.socket.remoteAddress }
    await send(await dashboard.answer(request, path, asking), req, res)
  } catch {
    // The client has left, or sends what no request can be made of.
    if (!res.headersSent) res.writeHead(400)
    res.end()
  }
}

async function toRequest(req: IncomingMessage, url: string, body: unknown): Promise<Request> {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // Those of HTTP/2 that begin with a colon are none.
    if (value !== undefined && !name.startsWith(':')) headers.set(name, String(value))
  }
  const { ':authority': authority } = req.headers
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority)
  const { method = 'GET' } = req
  const where = `http://dashboard${url.startsWith('/') ? url : `/${url}`}`
  if (method !== 'POST') return new Request(where, { method: method === 'HEAD' ? 'HEAD' : method, headers })
  return new Request(where, { method, headers, body: await textOf(req, body) })
}

/** The body, also if a parser of the host has read it already. */
async function textOf(req: IncomingMessage, parsed: unknown): Promise<string> {
  if (typeof parsed === 'string' || Buffer.isBuffer(parsed)) return parsed.toString()
  if (req.readableEnded) return JSON.stringify(parsed) ?? ''
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length <= LONGEST_BODY) chunks.push(chunk)
  }
  // What is cut is no JSON, so nothing comes of it.
  return Buffer.concat(chunks).toString()
}

async function send(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.statusCode = response.status
  for (const [name, value] of response.headers) res.setHeader(name, value)
  if (!response.body || req.method === 'HEAD') {
    await response.body?.cancel()
    res.end()
    return
  }
  res.flushHeaders()
  await pipeline(Readable.fromWeb(response.body as never), res)
}
