import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A TCP proxy to a server on 127.0.0.1 that can simulate network faults, on open and on new connections. */
export interface Proxy {
  readonly url: string
  readonly port: number
  /** Number of open connections. */
  readonly open: number
  /** Delays all data from the server by `ms`. */
  latency(ms: number): void
  /** Resets every open connection (RST); new connections work. */
  cut(): void
  /** Resets each connection after `bytes` more bytes from the server, in the middle of an answer. */
  cutAfterBytes(bytes: number): void
  /** Passes nothing on in either direction, as a network that loses packets. After `restore` all of it arrives. */
  blackhole(): void
  /** Does the same to open connections only, as a firewall that has forgotten them. New connections work. */
  blackholeOpen(): void
  /** Resets every connection, and refuses new ones. */
  refuse(): Promise<void>
  /** Ends all faults. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** Starts a proxy to the server on `target.port`. */
export async function startProxy(target: { readonly port: number }): Promise<Proxy> {
  const proxy = new TcpProxy(target.port)
  await proxy.restore()
  return proxy
}

class TcpProxy implements Proxy {
  readonly #target: number
  readonly #links = new Set<Link>()
  #server: Server | undefined
  #port = 0
  #latencyMs = 0
  #bytes = Infinity
  #isBlackhole = false

  constructor(target: number) {
    this.#target = target
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`
  }

  get open(): number {
    return this.#links.size
  }

  latency(ms: number): void {
    this.#latencyMs = ms
    for (const link of this.#links) link.latencyMs = ms
  }

  cut(): void {
    for (const link of this.#links) link.reset()
  }

  cutAfterBytes(bytes: number): void {
    this.#bytes = bytes
    for (const link of this.#links) link.left = bytes
  }

  blackhole(): void {
    this.#isBlackhole = true
    this.blackholeOpen()
  }

  blackholeOpen(): void {
    for (const link of this.#links) link.pause()
  }

  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    server?.close()
    this.cut()
    if (server) await once(server, 'close')
  }

  async restore(): Promise<void> {
    this.#isBlackhole = false
    this.latency(0)
    this.cutAfterBytes(Infinity)
    for (const link of this.#links) link.resume()
    if (this.#server) return
    const server = createServer({ noDelay: true }, (client) => this.#take(client))
    this.#server = server
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    // Jest must be able to end when a test forgets to close the proxy.
    server.unref()
    this.#port = (server.address() as AddressInfo).port
  }

  close(): Promise<void> {
    return this.refuse()
  }

  #take(client: Socket): void {
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    const link = new Link(client, server, () => this.#links.delete(link))
    link.latencyMs = this.#latencyMs
    link.left = this.#bytes
    if (this.#isBlackhole) link.pause()
    this.#links.add(link)
  }
}

/** The connection of one client, together with its connection to the server. */
class Link {
  latencyMs = 0
  /** Bytes from the server that may still pass before the reset. */
  left = Infinity
  readonly #client: Socket
  readonly #server: Socket
  readonly #onEnd: () => void
  /** Delayed data from the server, in order; `at` is when it may pass, by performance.now(). */
  readonly #held: { readonly at: number; readonly data: Buffer }[] = []
  #isOver = false

  constructor(client: Socket, server: Socket, onEnd: () => void) {
    this.#client = client
    this.#server = server
    this.#onEnd = onEnd
    client.on('data', (data: Buffer) => void server.write(data))
    server.on('data', (data: Buffer) => this.#hold(data))
    for (const socket of [client, server]) {
      socket.on('error', () => this.reset())
      socket.on('close', () => this.reset())
    }
  }

  pause(): void {
    this.#client.pause()
    this.#server.pause()
  }

  resume(): void {
    this.#client.resume()
    this.#server.resume()
  }

  reset(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
    this.#onEnd()
  }

  #hold(data: Buffer): void {
    if (this.latencyMs === 0 && this.#held.length === 0) return this.#pass(data)
    this.#held.push({ at: performance.now() + this.latencyMs, data })
    if (this.#held.length === 1) this.#release()
  }

  #release(): void {
    const [first] = this.#held
    if (!first || this.#isOver) return
    setTimeout(() => {
      this.#held.shift()
      this.#pass(first.data)
      this.#release()
    }, first.at - performance.now())
  }

  #pass(data: Buffer): void {
    if (this.#isOver) return
    if (data.length < this.left) {
      this.left -= data.length
      this.#client.write(data)
      return
    }
    // Reset only after the write, because a reset discards data that is not sent yet.
    this.#client.write(data.subarray(0, this.left), () => this.reset())
    this.left = 0
  }
}
