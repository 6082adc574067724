// A proxy to a server that loses or delays answers of commands that the server has run.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Random } from '@tollgate/testing'

/** `refuse`: no connection. `swallow`: half of the scripts run, but the connection is reset before their answer. */
export type Way = 'pass' | 'refuse' | 'swallow' | 'delay'

export class LossyProxy {
  readonly port: number
  readonly #server: Server
  readonly #links = new Set<() => void>()
  readonly #delayMs: number
  readonly #random = new Random(1)
  #way: Way = 'pass'
  /** Number of answers lost or late, and of connections refused. */
  met = 0

  private constructor(server: Server, target: number, delayMs: number) {
    this.#server = server
    this.#delayMs = delayMs
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => this.#take(socket, target))
  }

  static async start(target: number, delayMs: number): Promise<LossyProxy> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    server.unref()
    return new LossyProxy(server, target, delayMs)
  }

  set way(way: Way) {
    this.#way = way
    if (way === 'refuse') for (const reset of this.#links) reset()
  }

  close(): void {
    for (const reset of this.#links) reset()
    this.#server.close()
  }

  #take(client: Socket, target: number): void {
    if (this.#way === 'refuse') {
      this.met += 1
      return void client.resetAndDestroy()
    }
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const reset = (): void => {
      this.#links.delete(reset)
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
    this.#links.add(reset)
    let isLost = false
    let late: Promise<void> | undefined
    client.on('data', (data: Buffer) => {
      isLost ||= this.#way === 'swallow' && isScript(data) && this.#random.chance(0.5)
      server.write(data)
    })
    server.on('data', (data: Buffer) => {
      if (isLost || this.#way === 'delay') this.met += 1
      if (isLost) return reset()
      const write = (): unknown => client.writable && client.write(data)
      // Later answers wait behind a late one: answers never overtake each other.
      const isBehind = late !== undefined
      if (this.#way !== 'delay' && !isBehind) return void write()
      const own = Promise.all([late, sleep(this.#way === 'delay' ? this.#delayMs : 0)]).then(() => {
        write()
        if (late === own) late = undefined
      })
      late = own
    })
    for (const socket of [client, server]) {
      socket.on('error', reset)
      socket.on('close', reset)
    }
  }
}

function isScript(data: Buffer): boolean {
  return /\r\n(eval|evalsha|fcall)\r\n/i.test(data.toString('latin1'))
}
