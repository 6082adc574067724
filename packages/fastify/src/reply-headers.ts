import { RATE_LIMIT_HEADERS } from '@tollgate/core'
import type { FastifyReply } from 'fastify'

const NAMES = [...RATE_LIMIT_HEADERS, 'Cache-Control', 'Access-Control-Expose-Headers', 'Content-Type']
/** The names as Fastify keeps them. Cached, since making lower-case names takes longer than the rest of `setHeader`. */
const KEPT_AS: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [name, name.toLowerCase()]))
/** The names as they are sent, as in the other frameworks. For a stream Fastify sends them itself, in lower case. */
const SENT_AS: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [name.toLowerCase(), name]))

const PENDING = Symbol('tollgate.pendingHeaders')

/** Headers of ours that Fastify keeps until it sends its reply. */
interface Pending {
  readonly reply: FastifyReply
  /** In lower case. */
  names: string[]
  /** The method before ours. */
  readonly writeHead: WriteHead
}

interface Raw extends Pick<FastifyReply['raw'], 'hasHeader' | 'removeHeader' | 'setHeader'> {
  [PENDING]?: Pending
  writeHead: WriteHead
}

type Headers = Readonly<Record<string, unknown>>
type WriteHead = (status: number, text?: unknown, headers?: unknown) => unknown

/**
 * Sets a header of Fastify's reply, since headers of Node's response take longer to send. Fastify leaves its headers out
 * if the application writes to Node's response directly, such as an event stream: then `writeHead` adds this one.
 */
export function setHeader(reply: FastifyReply, name: string, value: string): void {
  const kept = KEPT_AS.get(name) ?? name.toLowerCase()
  reply.header(kept, value)
  const raw = reply.raw as Raw
  // What was there before is replaced; what the application sets afterwards wins.
  if (raw.hasHeader(name)) raw.removeHeader(name)
  const pending = raw[PENDING]
  if (pending) {
    pending.names.push(kept)
    return
  }
  raw[PENDING] = { reply, names: [kept], writeHead: raw.writeHead }
  raw.writeHead = writeHead
}

export function removeHeader(reply: FastifyReply, name: string): void {
  const kept = KEPT_AS.get(name) ?? name.toLowerCase()
  reply.removeHeader(kept)
  const pending = (reply.raw as Raw)[PENDING]
  if (pending) pending.names = pending.names.filter((one) => one !== kept)
}

/** Node calls this however the response is written. */
function writeHead(this: Raw, status: number, text?: unknown, headers?: unknown): unknown {
  const pending = this[PENDING] as Pending
  if (hasAll(text, pending)) return pending.writeHead.call(this, status, spelled(text))
  addTo(this, pending)
  return pending.writeHead.call(this, status, text, headers)
}

function addTo(raw: Raw, { reply, names }: Pending): void {
  for (const name of names) {
    const value = reply.getHeader(name)
    if (value === undefined || raw.hasHeader(name)) continue
    try {
      raw.setHeader(SENT_AS.get(name) ?? name, value)
    } catch {
      // The application has set a value that Node refuses. Fastify has caught that error and now calls again without headers,
      // to answer 500. Another error would end the process.
    }
  }
}

/** Whether these are the headers of the reply, which Fastify sends. */
function hasAll(headers: unknown, { names }: Pending): headers is Headers {
  return typeof headers === 'object' && headers !== null && names.every((name) => name in headers)
}

function spelled(headers: Headers): Headers {
  const all: Record<string, unknown> = {}
  for (const name of Object.keys(headers)) all[SENT_AS.get(name) ?? name] = headers[name]
  return all
}
