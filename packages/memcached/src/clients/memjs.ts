import { storeErrorOf } from '../errors.js'
import type { Command, MemcachedPort, Reply, Take } from './port.js'

/** A response as memjs's `perform` passes it on. */
interface Response {
  readonly header: { readonly status: number; readonly cas: Buffer }
  readonly val: Buffer
}

/** What Tollgate uses of a client from the package `memjs`. */
export interface MemjsClient {
  /** The number of the latest command. */
  seq: number
  /** The servers: each with its socket while it has one, and with what has arrived of its next response. */
  readonly servers: readonly { _socket?: unknown; responseBuffer?: Buffer }[]
  /** Counts `seq` up for the next command. */
  incrSeq(): void
  /** Sends any command of the binary protocol. */
  perform(
    key: string,
    request: Buffer,
    seq: number,
    callback: (error: Error | null, response: Response) => void,
  ): void
  /** Asks each server for its statistics, which include its time. */
  stats(
    callback: (error: Error | null, server: string, stats: Readonly<Record<string, string>> | null) => void,
  ): void
}

export function isMemjs(given: unknown): given is MemjsClient {
  const client = given as Partial<Record<keyof MemjsClient, unknown>> | null
  return typeof client?.perform === 'function' && typeof client.incrSeq === 'function'
}

/** @see https://github.com/memcached/memcached/wiki/BinaryProtocolRevamped */
const OPCODES = { take: 0x05, give: 0x06, read: 0x00, look: 0x00, set: 0x01, swap: 0x01, add: 0x02 } as const
const OK = 0
const NOT_FOUND = 1
const EXISTS = 2
const NOT_STORED = 5
/** As a counter's time to live, this means: do not make it. */
const NOT_MADE = 0xffffffff
const HEADER = 24
/** The most attempts to make a counter that another process makes at the same moment. */
const MOST_TRIES = 5

/** Reaches Memcached through memjs, which speaks the binary protocol: the command that adds to a counter also makes it. */
export class MemjsPort implements MemcachedPort {
  readonly isOwn = false
  readonly shards = 1
  readonly servers: object
  readonly #client: MemjsClient

  constructor(client: MemjsClient) {
    this.#client = client
    this.servers = client
  }

  run(commands: readonly Command[]): Promise<readonly Reply[]> {
    return Promise.all(commands.map((command) => this.#send(command)))
  }

  serverTime(): Promise<number | undefined> {
    // If there are several servers, the first answer counts. The caller does not wait for long.
    return new Promise((resolve) => {
      this.#client.stats((error, _, stats) => {
        const time = Number(stats?.['time'])
        if (!error && Number.isFinite(time)) resolve(time)
      })
    })
  }

  // Not by the client's `increment`, which returns a wrong number for values of more than 32 bits.
  #send(command: Command, tries = 1): Promise<Reply> {
    const client = this.#client
    return new Promise((resolve, reject) => {
      client.incrSeq()
      client.perform(command.key, requestOf(command, client.seq), client.seq, (error, response) => {
        if (error) {
          this.#forgetHalves()
          return reject(storeErrorOf(error))
        }
        const { status } = response.header
        // Another process made the counter at the same moment, so now there is one to add to.
        if (command.kind === 'take' && status === NOT_STORED && tries < MOST_TRIES) {
          return this.#send(command, tries + 1).then(resolve, reject)
        }
        resolve(replyOf(command, status, response))
      })
    })
  }

  /**
   * If a connection is lost in the middle of a response, memjs keeps that half and appends the next connection's responses to it.
   * Then it understands none of them.
   */
  #forgetHalves(): void {
    for (const server of this.#client.servers) {
      if (!server._socket) server.responseBuffer = Buffer.alloc(0)
    }
  }
}

function replyOf({ kind }: Command, status: number, { val: value, header }: Response): Reply {
  if (kind === 'swap' && (status === EXISTS || status === NOT_FOUND)) return false
  if (kind === 'add' && (status === EXISTS || status === NOT_STORED)) return false
  if (status === NOT_FOUND) return undefined
  if (status !== OK) return storeErrorOf(new Error(textOf(status, value)))
  if (kind === 'take' || kind === 'give') return Number(value.readBigUInt64BE(0))
  if (kind === 'look') return { text: value.toString('latin1'), token: header.cas.toString('hex') }
  return kind === 'read' ? value.toString('latin1') : true
}

function textOf(status: number, value: Buffer): string {
  return value.length > 0 ? value.toString('latin1') : `unknown response: status ${status}`
}

function requestOf(command: Command, seq: number): Buffer {
  const { kind, key } = command
  const extras = extrasOf(command)
  const value = kind === 'add' || kind === 'set' || kind === 'swap' ? command.text : ''
  const request = Buffer.alloc(HEADER + extras.length + key.length + value.length)
  request.writeUInt8(0x80, 0)
  request.writeUInt8(OPCODES[kind], 1)
  request.writeUInt16BE(key.length, 2)
  request.writeUInt8(extras.length, 4)
  request.writeUInt32BE(extras.length + key.length + value.length, 8)
  // memjs finds the callback by this number, so write it as memjs does.
  request.writeUInt32BE(seq >>> 0, 12)
  if (kind === 'swap') request.write(command.token, 16, 'hex')
  extras.copy(request, HEADER)
  request.write(key, HEADER + extras.length, 'latin1')
  request.write(value, HEADER + extras.length + key.length, 'latin1')
  return request
}

function extrasOf(command: Command): Buffer {
  if (command.kind === 'read' || command.kind === 'look') return Buffer.alloc(0)
  if (command.kind === 'take') return counterExtras(command)
  if (command.kind === 'give') return counterExtras({ units: command.units, initial: 0, ttl: NOT_MADE })
  const extras = Buffer.alloc(8)
  extras.writeUInt32BE(command.ttl, 4)
  return extras
}

function counterExtras({ units, initial, ttl }: Pick<Take, 'units' | 'initial' | 'ttl'>): Buffer {
  const extras = Buffer.alloc(20)
  extras.writeBigUInt64BE(BigInt(units), 0)
  extras.writeBigUInt64BE(BigInt(initial), 8)
  extras.writeUInt32BE(ttl, 16)
  return extras
}
