import { warn } from '@tollgate/core/adapter'
import { storeErrorOf } from '../errors.js'
import type { Command, Looked, MemcachedPort, Reply, Take } from './port.js'

/** Gets a command's error, or else its result. */
type Callback = (error: unknown, result: unknown) => void

/** What Tollgate uses of a client from the package `memcached`. */
export interface NodeMemcachedClient {
  /** After an error, how long the client does not use a server, in ms. */
  readonly retry?: number
  /** After how many errors the client gives a server up. */
  readonly failures?: number
  incr(key: string, units: number, callback: Callback): void
  decr(key: string, units: number, callback: Callback): void
  get(key: string, callback: Callback): void
  gets(key: string, callback: Callback): void
  cas(key: string, text: string, token: string, ttl: number, callback: Callback): void
  add(key: string, text: string, ttl: number, callback: Callback): void
  set(key: string, text: string, ttl: number, callback: Callback): void
  stats(callback: Callback): void
}

export function isNodeMemcached(given: unknown): given is NodeMemcachedClient {
  const client = given as Partial<Record<keyof NodeMemcachedClient, unknown>> | null
  // Redis clients also have `incr`.
  return (
    typeof client?.incr === 'function' &&
    typeof client.gets === 'function' &&
    typeof client.stats === 'function'
  )
}

/** If a connection is lost, the client forgets its commands. Without this limit, their callers would wait for ever. In ms. */
const LONGEST_REPLY_MS = 5000
/** The most attempts to make a counter that another process makes at the same moment. */
const MOST_TRIES = 5
/** The longest that a client should leave a server alone after an error, in ms. */
const LONGEST_RETRY_MS = 5000
/** After `failures` errors, the client waits for hours, and then runs the program `ping`, which can crash the process. */
const FEWEST_FAILURES = 1e6

/** Reaches Memcached through the package memcached, which sends text commands one by one, over a pool of connections. */
export class NodeMemcachedPort implements MemcachedPort {
  readonly isOwn = false
  readonly shards = 1
  readonly servers: object
  readonly #client: NodeMemcachedClient

  constructor(client: NodeMemcachedClient) {
    this.#client = client
    this.servers = client
    const { retry = 0, failures = FEWEST_FAILURES } = client
    if (retry <= LONGEST_RETRY_MS && failures >= FEWEST_FAILURES) return
    warn(
      'TOLLGATE_MEMCACHED_CLIENT',
      `After an error, this client does not use the server for ${retry} ms, and after ${failures} errors for hours. In that time ` +
        'onStoreFailure decides. Create it with new Memcached(servers, { retry: 1000, failures: 1e9 }).',
    )
  }

  run(commands: readonly Command[]): Promise<readonly Reply[]> {
    return Promise.all(commands.map((command) => this.#send(command)))
  }

  async serverTime(): Promise<number | undefined> {
    const given = await this.#call((done) => this.#client.stats(done))
    const [first] = given as readonly ({ readonly time?: unknown } | undefined)[]
    return typeof first?.time === 'number' ? first.time : undefined
  }

  async #send(command: Command): Promise<Reply> {
    const client = this.#client
    const { kind, key } = command
    if (kind === 'take') return this.#take(command, MOST_TRIES)
    if (kind === 'give') return numberOf(await this.#call((done) => client.decr(key, command.units, done)))
    if (kind === 'read') return textOf(await this.#call((done) => client.get(key, done)))
    if (kind === 'look') return lookedOf(await this.#call((done) => client.gets(key, done)))
    if (kind === 'swap') {
      const { text, token, ttl } = command
      return (await this.#call((done) => client.cas(key, text, token, ttl, done))) === true
    }
    return (await this.#call((done) => client[kind](key, command.text, command.ttl, done))) === true
  }

  async #take(command: Take, tries: number): Promise<Reply> {
    const { key, units, initial, ttl } = command
    const value = numberOf(await this.#call((done) => this.#client.incr(key, units, done)))
    if (value !== undefined || tries === 0) return value
    const isMade = await this.#call((done) => this.#client.add(key, String(initial), ttl, done))
    // Another process made the counter at the same moment, so now there is one to add to.
    return isMade === true ? initial : this.#take(command, tries - 1)
  }

  #call(send: (done: Callback) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(storeErrorOf(new Error('no reply for 5 s'))),
        LONGEST_REPLY_MS,
      ).unref()
      send((error, result) => {
        clearTimeout(timer)
        if (error && !(error as { readonly notStored?: boolean }).notStored)
          reject(storeErrorOf(firstOf(error)))
        else resolve(error ? false : result)
      })
    })
  }
}

function firstOf(error: unknown): unknown {
  return Array.isArray(error) ? error[0] : error
}

/** The client returns an object with `cas` and with the key, which may have a namespace. */
function lookedOf(given: unknown): Looked | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { cas, ...texts } = given as Record<string, unknown>
  const text = textOf(Object.values(texts)[0])
  return text === undefined ? undefined : { text, token: String(cas) }
}

/** For a counter that does not exist, the client returns `false`. */
function numberOf(given: unknown): number | undefined {
  return typeof given === 'number' ? given : undefined
}

function textOf(given: unknown): string | undefined {
  return typeof given === 'string' || typeof given === 'number' ? String(given) : undefined
}
