import { connect as connectTo, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { StoreError } from '@tollgate/core/store'
import { storeErrorOf } from '../errors.js'
import type { Address } from './address.js'
import { Reader } from './reader.js'

/** Opens a socket to a server, such as by `connect` of node:tls. */
export type Connect = (address: Address) => Socket

/** What is sent together, and what becomes of its replies. */
export interface Exchange {
  readonly text: string
  /** Takes the replies that have arrived. Returns true when it has all of its own. @throws for what is no reply */
  read(reader: Reader): boolean
  reject(error: StoreError): void
}

interface Pending {
  readonly exchange: Exchange
  readonly sentAtMs: number
}

/** A reply that takes longer does not come any more: the connection is given up. */
const LONGEST_REPLY_MS = 2000
const LONGEST_CONNECT_MS = 1000

/**
 * One connection to one server. Commands are sent at once, one after another, and replies come in the same order. When it
 * is lost, all that wait are told so, and the next exchange opens it anew: nothing is sent twice.
 */
export class Connection {
  readonly #address: Address
  readonly #connect: Connect
  #socket: Socket | undefined
  #reader = new Reader()
  /** In the order of sending. */
  #pending: Pending[] = []

  constructor(address: Address, connect: Connect = (to) => connectTo(to)) {
    this.#address = address
    this.#connect = connect
  }

  ask(exchange: Exchange): void {
    const sentAtMs = performance.now()
    const [oldest] = this.#pending
    if (oldest && sentAtMs - oldest.sentAtMs > LONGEST_REPLY_MS) this.#lose(new Error('no reply for 2 s'))
    const socket = (this.#socket ??= this.#open())
    // An idle connection must not keep the process from ending.
    if (this.#pending.length === 0) socket.ref()
    this.#pending.push({ exchange, sentAtMs })
    socket.write(exchange.text)
  }

  /** A later exchange opens it again. */
  close(): void {
    this.#lose(new Error('the store is closed'))
  }

  #open(): Socket {
    const socket = this.#connect(this.#address)
    this.#reader = new Reader()
    socket.setNoDelay(true)
    socket.setTimeout(LONGEST_CONNECT_MS)
    const lose = (error: Error): void => {
      if (this.#socket === socket) this.#lose(error)
      else socket.destroy()
    }
    socket.once('connect', () => socket.setTimeout(0))
    socket.on('timeout', () => lose(new Error('timed out while it connected')))
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
      if (reader.isTooLong) throw new Error('what came is no reply of Memcached')
    } catch (error) {
      this.#lose(error)
    }
    if (this.#pending.length === 0) this.#socket?.unref()
  }

  #lose(cause: unknown): void {
    const lost = this.#pending
    this.#pending = []
    this.#socket?.destroy()
    this.#socket = undefined
    if (lost.length === 0) return
    const error = storeErrorOf(cause)
    for (const { exchange } of lost) exchange.reject(error)
  }
}
