import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A connection to a server on 127.0.0.1 that tests can disturb. Faults apply to open and to later connections. */
export interface Proxy {
  readonly url: string
  readonly port: number
  /** The number of connections through it. */
  readonly open: number
  /** Delays the server's data by this many ms. */
  latency(ms: number): void
  /** Resets all open connections (RST); new ones work. */
  cut(): void
  /** Resets each connection after this many more bytes from the server, so in the middle of a reply. */
  cutAfterBytes(bytes: number): void
  /** Holds all data back, in both directions, like a network that loses packets. `restore` delivers it. */
  blackhole(): void
  /** The same for open connections only, like a firewall that has forgotten them. */
  blackholeOpen(): void
  /** Resets all connections, and refuses new ones. */
  refuse(): Promise<void>
  /** Ends all faults. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** Starts a TCP proxy in front of a server. */
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
    // Tests that forget to close it must not keep jest running.
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

/** A client's connection, with its own connection to the server. */
class Link {
  latencyMs = 0
  /** How many more bytes from the server may pass. */
  left = Infinity
  readonly #client: Socket
  readonly #server: Socket
  readonly #onEnd: () => void
  /** Data from the server, in order, with the time from which it may pass. */
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
    // Reset after the write: a reset overtakes data that is still to be sent.
    this.#client.write(data.subarray(0, this.left), () => this.reset())
    this.left = 0
  }
}
