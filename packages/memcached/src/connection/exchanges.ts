import type { StoreError } from '@tollgate/core/store'
import type { Command, Reply } from '../clients/port.js'
import type { Exchange } from './connection.js'
import type { Reader } from './reader.js'
import { isReply, replyOf, textOf } from './replies.js'

/** Commands that are sent together. */
export class Commands implements Exchange {
  readonly text: string
  readonly #commands: readonly Command[]
  readonly #replies: Reply[] = []
  readonly #resolve: (replies: readonly Reply[]) => void
  readonly reject: (error: StoreError) => void

  constructor(
    commands: readonly Command[],
    resolve: (replies: readonly Reply[]) => void,
    reject: (error: StoreError) => void,
  ) {
    this.#commands = commands
    this.#resolve = resolve
    this.reject = reject
    let text = ''
    for (const command of commands) text += textOf(command)
    this.text = text
  }

  read(reader: Reader): boolean {
    const { length } = this.#commands
    while (this.#replies.length < length) {
      const line = reader.line()
      if (line === undefined) return false
      if (!isReply(line)) throw notAReply(line)
      let value: string | undefined
      if (line.startsWith('VA')) {
        value = reader.value(line)
        if (value === undefined) {
          reader.back(line)
          return false
        }
      }
      this.#replies.push(replyOf(this.#commands[this.#replies.length] as Command, line, value))
    }
    this.#resolve(this.#replies)
    return true
  }
}

function notAReply(line: string): Error {
  return new Error(`${JSON.stringify(line.slice(0, 60))} is not a reply of Memcached`)
}

/** Asks for the server's time in seconds. */
export class ServerTime implements Exchange {
  readonly text = 'stats\r\n'
  #time: number | undefined
  readonly #resolve: (time: number | undefined) => void
  readonly reject: (error: StoreError) => void

  constructor(resolve: (time: number | undefined) => void, reject: (error: StoreError) => void) {
    this.#resolve = resolve
    this.reject = reject
  }

  read(reader: Reader): boolean {
    for (let line = reader.line(); line !== undefined; line = reader.line()) {
      if (line.startsWith('STAT time ')) this.#time = Number(line.slice('STAT time '.length))
      if (line.startsWith('STAT ')) continue
      if (line.includes('authenticat')) throw new Error(line)
      // A proxy may refuse the command.
      if (line !== 'END' && !/^(?:CLIENT_|SERVER_)?ERROR/.test(line)) throw notAReply(line)
      this.#resolve(this.#time)
      return true
    }
    return false
  }
}
