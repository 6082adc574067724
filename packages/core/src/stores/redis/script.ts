import { StoreError } from '../../base/errors.js'
import type { Call } from '../contract.js'
import type { RedisPort, ScriptArg } from './clients/index.js'
import { isNoScript } from './wire/decode.js'

const MOST_TRIES = 3

/** One run of a script. */
export interface Sending {
  readonly keys: readonly string[]
  readonly args: readonly ScriptArg[]
  /** The shard of all its keys. */
  readonly shard: number
  /** Left out if it may be sent late. */
  readonly call?: Call | undefined
}

/**
 * One script, sent by its SHA-1. When a server does not know it (a new server, a restart, SCRIPT FLUSH), the first
 * caller sends the text, and other callers wait for that. A script that Redis does not know has not run, so sending it
 * again counts nothing twice.
 */
export class Script {
  readonly #port: RedisPort
  readonly #text: string
  readonly #sha1: string
  /** The calls under way that send this script's text to a server, by shard. */
  readonly #loading = new Map<number, Promise<unknown>>()

  constructor(port: RedisPort, { text, sha1 }: { readonly text: string; readonly sha1: string }) {
    this.#port = port
    this.#text = text
    this.#sha1 = sha1
  }

  /**
   * @param read makes the result of the reply: here, since each promise in between costs time
   * @throws {StoreError}
   */
  run<T>(sending: Sending, read: (reply: unknown) => T | Promise<T>): Promise<T> {
    return this.#port
      .evalsha(this.#sha1, sending.keys, sending.args)
      .then(read, (error: unknown) => this.#recover(error, sending, 1).then(read))
  }

  async #recover(error: unknown, sending: Sending, tries: number): Promise<unknown> {
    if (!isNoScript(error)) throw this.#port.errorOf(error, sending.keys[0])
    refuseLate(sending.call)
    // Redis has forgotten the script each time, so send its text with the request.
    if (tries === MOST_TRIES) return this.#sendText(sending)
    const loading = this.#loading.get(sending.shard)
    if (!loading) return this.#load(sending)
    // An error goes to the caller that sent the text; this one tries again.
    await loading.catch(() => {})
    refuseLate(sending.call)
    return this.#port
      .evalsha(this.#sha1, sending.keys, sending.args)
      .catch((again: unknown) => this.#recover(again, sending, tries + 1))
  }

  async #load(sending: Sending): Promise<unknown> {
    const loading = this.#sendText(sending)
    this.#loading.set(sending.shard, loading)
    try {
      return await loading
    } finally {
      this.#loading.delete(sending.shard)
    }
  }

  #sendText({ keys, args }: Sending): Promise<unknown> {
    return this.#port.eval(this.#text, keys, args).catch((error: unknown) => {
      throw this.#port.errorOf(error, keys[0])
    })
  }
}

/** Called before anything is sent again: by then the caller may have got another answer. */
export function refuseLate(call: Call | undefined): void {
  if (call?.isOver)
    throw new StoreError('too late to ask Redis again: raise deadlineMs if this comes often', {
      code: 'ERR_TOLLGATE_STORE_TIMEOUT',
    })
}
