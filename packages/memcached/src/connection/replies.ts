import type { Command, Reply } from '../clients/port.js'
import { storeErrorOf } from '../errors.js'

/**
 * The texts of commands in Memcached's meta protocol, and its replies.
 *
 * @see https://github.com/memcached/memcached/blob/master/doc/protocol.txt
 */
export function textOf(command: Command): string {
  switch (command.kind) {
    case 'take':
      // N: make it if it is missing, with this time to live. J: its first value. v: reply with the value.
      return `ma ${command.key} N${command.ttl} J${command.initial} D${command.units} v\r\n`
    case 'give':
      return `ma ${command.key} MD D${command.units} v\r\n`
    case 'read':
      return `mg ${command.key} v\r\n`
    case 'look':
      return `mg ${command.key} v c\r\n`
    case 'add':
      return `ms ${command.key} ${command.text.length} T${command.ttl} ME\r\n${command.text}\r\n`
    case 'swap': {
      const { key, text, ttl, token } = command
      return `ms ${key} ${text.length} T${ttl} C${token}\r\n${text}\r\n`
    }
    case 'set':
      return `ms ${command.key} ${command.text.length} T${command.ttl}\r\n${command.text}\r\n`
  }
}

/**
 * What a reply means.
 *
 * @param line  its first line
 * @param value the second line of a reply that has one
 */
export function replyOf({ kind }: Command, line: string, value: string | undefined): Reply {
  if (value !== undefined) {
    if (kind === 'look') return { text: value, token: / c(\d+)/.exec(line)?.[1] ?? '' }
    return kind === 'take' || kind === 'give' ? Number(value) : value
  }
  const code = line.slice(0, 2)
  if (code === 'HD') return true
  if (code === 'NS' || code === 'EX') return false
  if (code === 'EN' || code === 'NF') return kind === 'swap' ? false : undefined
  return storeErrorOf(new Error(line))
}

/** Whether a line can begin a reply. After any other line, it is unclear which reply belongs to which command. */
export function isReply(line: string): boolean {
  return /^(?:HD|NS|EN|NF|EX|VA \d+)(?: |$)|^(?:CLIENT_ERROR|SERVER_ERROR) |^ERROR/.test(line)
}
