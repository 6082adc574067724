import { connect as connectTo, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { StoreError } from '@tollgate/core/store'
import { storeErrorOf } from '../errors.js'
import type { Address } from './address.js'
import { Reader } from './reader.js'

/** Opens a socket to a server, for example with node:tls's `connect`. Must return the socket itself, not a promise. */
export type Connect = (address: Address) => Socket

/** Text that is sent at once, and the reader of its replies. */
export interface Exchange {
  readonly text: string
  /** Takes the replies that have arrived. Returns true once it has all its replies. @throws for what is not a reply */
  read(reader: Reader): boolean
  reject(error: StoreError): void
}

interface Pending {
  readonly exchange: Exchange
  readonly sentAtMs: number
}

/** If a reply takes longer, the connection is given up. In ms. */
const LONGEST_REPLY_MS = 2000
const LONGEST_CONNECT_MS = 1000

/**
 * One connection to one server. Commands are sent at once, one after another, and replies come in the same order. When the
 * connection is lost, everything that waits is rejected, and the next exchange opens it again. Nothing is sent twice.
 */
export class Connection {
  readonly #address: Address
  readonly #connect: Connect
  #socket: Socket | undefined
  #reader = new Reader()
  /** In the order of sending. */
  #pending: Pending[] = []
  /** Runs while replies are awaited. */
  #timer: NodeJS.Timeout | undefined

  constructor(address: Address, connect: Connect = (to) => connectTo(to)) {
    this.#address = address
    this.#connect = connect
  }

  ask(exchange: Exchange): void {
    try {
      const socket = (this.#socket ??= this.#open())
      // An idle connection must not keep the process from ending.
      if (this.#pending.length === 0) socket.ref()
      this.#pending.push({ exchange, sentAtMs: performance.now() })
      socket.write(exchange.text)
      this.#timer ??= setTimeout(() => this.#checkAge(), LONGEST_REPLY_MS).unref()
    } catch (error) {
      // The user's `connect` can throw.
      exchange.reject(storeErrorOf(error))
    }
  }

  /** Closes the connection. A later exchange opens it again. */
  close(): void {
    this.#lose(new Error('the store is closed'))
  }

  /** Gives up a connection that is silent, such as one that a firewall forgot: it would be waited for until the process ends. */
  #checkAge(): void {
    this.#timer = undefined
    const [oldest] = this.#pending
    if (!oldest) return
    const left = oldest.sentAtMs + LONGEST_REPLY_MS - performance.now()
    if (left <= 0) this.#lose(new Error('no reply for 2 s'))
    else this.#timer = setTimeout(() => this.#checkAge(), left).unref()
  }

  #open(): Socket {
    const socket: unknown = this.#connect(this.#address)
    if (!isSocket(socket)) {
      drop(socket)
      throw new Error('connect must return a socket of node:net or node:tls, not a promise of one')
    }
    this.#reader = new Reader()
    socket.setNoDelay(true)
    socket.setTimeout(LONGEST_CONNECT_MS)
    const lose = (error: Error): void => {
      if (this.#socket === socket) this.#lose(error)
      else socket.destroy()
    }
    socket.once('connect', () => socket.setTimeout(0))
    socket.on('timeout', () => lose(new Error('timed out while connecting')))
    socket.on('error', lose)
    socket.on('close', () => lose(new Error('the connection closed')))
    socket.on('data', (chunk) => {
      if (this.#socket === socket) this.#read(chunk)
    })
    return socket
  }

  #read(chunk: Buffer): void {
    const reader = this.#reader
    reader.push(chunk)
    try {
      for (let [first] = this.#pending; first; [first] = this.#pending) {
        if (!first.exchange.read(reader)) break
        this.#pending.shift()
      }
      // It would be taken for the next command's reply, and every later reply would be off by one.
      if (this.#pending.length === 0 && !reader.isEmpty) {
        throw new Error('what arrived is not a reply of Memcached: no command was sent')
      }
      if (reader.isTooLong) throw new Error('what arrived is not a reply of Memcached')
    } catch (error) {
      this.#lose(error)
    }
    if (this.#pending.length === 0) this.#socket?.unref()
  }

  #lose(cause: unknown): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lost = this.#pending
    this.#pending = []
    this.#socket?.destroy()
    this.#socket = undefined
    if (lost.length === 0) return
    const error = storeErrorOf(cause)
    for (const { exchange } of lost) exchange.reject(error)
  }
}

/** Closes a socket that `connect` promised, and handles its errors and a rejection: each would end the process. */
function drop(given: unknown): void {
  Promise.resolve(given).then(
    (late) => isSocket(late) && late.on('error', () => {}).destroy(),
    () => {},
  )
}

function isSocket(given: unknown): given is Socket {
  const socket = given as Partial<Socket> | null | undefined
  return typeof socket?.write === 'function' && typeof socket.setNoDelay === 'function'
}
