import type { Command, MemcachedPort, Reply } from '../clients/port.js'
import type { Address } from './address.js'
import { Connection, type Connect } from './connection.js'
import { Commands, ServerTime } from './exchanges.js'

/**
 * Tollgate's own connections, one for each server. Each server is a shard and can fail alone.
 *
 * They exist since no client for Node has Memcached's meta commands. `ma` makes a counter with its time to live and adds to it, in
 * one round trip, and a batch is one write.
 */
export class OwnPort implements MemcachedPort {
  readonly isOwn = true
  readonly shards: number
  readonly servers: string
  readonly #connections: readonly Connection[]

  constructor(addresses: readonly Address[], connect?: Connect) {
    this.shards = addresses.length
    this.servers = addresses
      .map((address) => JSON.stringify(address))
      .toSorted()
      .join()
    this.#connections = addresses.map((address) => new Connection(address, connect))
  }

  run(commands: readonly Command[], shard: number): Promise<readonly Reply[]> {
    if (commands.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => this.#of(shard).ask(new Commands(commands, resolve, reject)))
  }

  serverTime(shard: number): Promise<number | undefined> {
    return new Promise((resolve, reject) => this.#of(shard).ask(new ServerTime(resolve, reject)))
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close()
  }

  #of(shard: number): Connection {
    return this.#connections[shard] as Connection
  }
}
