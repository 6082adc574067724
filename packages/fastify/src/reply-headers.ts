import type { FastifyReply } from 'fastify'

const PENDING = Symbol('tollgate.pendingHeaders')

/** Tollgate's headers, which Fastify keeps until it sends its reply. */
interface Pending {
  readonly reply: FastifyReply
  /** In lower case. */
  names: string[]
  /** The response's own method, which ours calls. */
  readonly writeHead: WriteHead
}

interface Raw extends Pick<FastifyReply['raw'], 'hasHeader' | 'removeHeader' | 'setHeader'> {
  [PENDING]?: Pending
  writeHead: WriteHead
}

type WriteHead = (status: number, text?: unknown, headers?: unknown) => unknown

/** Names in lower case, as Fastify sends all headers. Cached, since making one takes longer than the rest of `setHeader`. */
const lowerCase = new Map<string, string>()

function toLowerCase(name: string): string {
  let lower = lowerCase.get(name)
  if (lower === undefined) lowerCase.set(name, (lower = name.toLowerCase()))
  return lower
}

/**
 * Sets a header on Fastify's reply, since headers on Node's response take longer to send. If the application writes to Node's
 * response directly, as for an event stream, Fastify does not send its headers. Then `writeHead` adds this one.
 */
export function setHeader(reply: FastifyReply, name: string, value: string): void {
  const lower = toLowerCase(name)
  reply.header(lower, value)
  const raw = reply.raw as Raw
  // What was there before is replaced; what the application sets afterwards wins.
  if (raw.hasHeader(lower)) raw.removeHeader(lower)
  const pending = raw[PENDING]
  if (pending) {
    pending.names.push(lower)
    return
  }
  raw[PENDING] = { reply, names: [lower], writeHead: raw.writeHead }
  raw.writeHead = writeHead
}

export function removeHeader(reply: FastifyReply, name: string): void {
  const lower = toLowerCase(name)
  reply.removeHeader(lower)
  const pending = (reply.raw as Raw)[PENDING]
  if (pending) pending.names = pending.names.filter((one) => one !== lower)
}

/** Node calls this however the response is written. */
function writeHead(this: Raw, status: number, text?: unknown, headers?: unknown): unknown {
  const pending = this[PENDING] as Pending
  if (!hasAll(text, pending)) addTo(this, pending)
  return pending.writeHead.call(this, status, text, headers)
}

/** Whether these headers include ours, as they do when Fastify sends the reply. */
function hasAll(headers: unknown, { names }: Pending): boolean {
  if (typeof headers !== 'object' || headers === null) return false
  for (let i = 0; i < names.length; i += 1) if (!((names[i] as string) in headers)) return false
  return true
}

function addTo(raw: Raw, { reply, names }: Pending): void {
  for (const name of names) {
    const value = reply.getHeader(name)
    if (value === undefined || raw.hasHeader(name)) continue
    try {
      raw.setHeader(name, value)
    } catch {
      // The application has set a value that Node refuses. Fastify has caught that error and calls again without headers, to
      // answer 500. Another error would end the process.
    }
  }
}
