import { StoreError } from '../../errors.js'
import type { Call } from '../store.js'
import type { RedisPort, ScriptArg } from './clients.js'

const MOST_TRIES = 3

/**
 * One script on one server, sent by its SHA-1. When the server does not know it (a new server, a restart, SCRIPT
 * FLUSH), the first caller sends the text, and callers that meet the same in the meantime wait for that. A
 * script that is not known has not run, so nothing is counted twice.
 */
export class Script {
  readonly #port: RedisPort
  readonly #text: string
  readonly #sha1: string
  #loading: Promise<unknown> | undefined

  constructor(port: RedisPort, { text, sha1 }: { readonly text: string; readonly sha1: string }) {
    this.#port = port
    this.#text = text
    this.#sha1 = sha1
  }

  run(keys: readonly string[], args: readonly ScriptArg[], call?: Call, tries = 1): Promise<unknown> {
    return this.#port.evalsha(this.#sha1, keys, args).catch(async (error: unknown) => {
      if (!isNoScript(error) || tries === MOST_TRIES) throw error
      refuseLate(call)
      if (!this.#loading) return this.#load(keys, args)
      // What the one that loads meets is told to its own caller.
      await this.#loading.catch(() => {})
      refuseLate(call)
      return this.run(keys, args, call, tries + 1)
    })
  }

  async #load(keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown> {
    this.#loading = this.#port.eval(this.#text, keys, args)
    try {
      return await this.#loading
    } finally {
      this.#loading = undefined
    }
  }
}

/** Before anything is sent again: its caller may have been answered in the meantime. */
export function refuseLate(call: Call | undefined): void {
  if (call?.isOver) throw new StoreError('too late to ask again', { code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
