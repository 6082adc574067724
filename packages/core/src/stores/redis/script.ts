import { StoreError } from '../../base/errors.js'
import type { Call } from '../contract.js'
import type { RedisPort, ScriptArg } from './clients/index.js'
import { isNoScript, storeErrorOf } from './replies.js'

const MOST_TRIES = 3

/** What a script is sent with. */
export interface Sending {
  readonly keys: readonly string[]
  readonly args: readonly ScriptArg[]
  /** Which of the servers, where there are several. */
  readonly shard: number
  /** Left out where it may be sent late. */
  readonly call?: Call | undefined
}

/**
 * One script, sent by its SHA-1. When a server does not know it (a new server, a restart, SCRIPT FLUSH), the first
 * caller sends the text, and callers that meet the same there in the meantime wait for that. A script that is not
 * known has not run, so nothing is counted twice.
 */
export class Script {
  readonly #port: RedisPort
  readonly #text: string
  readonly #sha1: string
  /** By shard. */
  readonly #loading = new Map<number, Promise<unknown>>()

  constructor(port: RedisPort, { text, sha1 }: { readonly text: string; readonly sha1: string }) {
    this.#port = port
    this.#text = text
    this.#sha1 = sha1
  }

  /** @throws {StoreError} */
  run(sending: Sending): Promise<unknown> {
    return this.#send(sending, 1).catch((error: unknown) => {
      throw storeErrorOf(error)
    })
  }

  #send(sending: Sending, tries: number): Promise<unknown> {
    const { keys, args, shard, call } = sending
    return this.#port.evalsha(this.#sha1, keys, args).catch(async (error: unknown) => {
      if (!isNoScript(error)) throw error
      refuseLate(call)
      // It is forgotten as fast as it is sent: then as text every time.
      if (tries === MOST_TRIES) return this.#port.eval(this.#text, keys, args)
      const loading = this.#loading.get(shard)
      if (!loading) return this.#load(sending)
      // What the one that loads meets is told to its own caller.
      await loading.catch(() => {})
      refuseLate(call)
      return this.#send(sending, tries + 1)
    })
  }

  async #load({ keys, args, shard }: Sending): Promise<unknown> {
    const loading = this.#port.eval(this.#text, keys, args)
    this.#loading.set(shard, loading)
    try {
      return await loading
    } finally {
      this.#loading.delete(shard)
    }
  }
}

/** Before anything is sent again: its caller may have been answered in the meantime. */
export function refuseLate(call: Call | undefined): void {
  if (call?.isOver) throw new StoreError('too late to ask again', { code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
}
