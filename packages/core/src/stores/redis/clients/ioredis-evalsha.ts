import { quiet } from '../../../base/promises.js'
import type { ClientFaults } from './client-faults.js'
import { type RedisPort, clientClosed, untilReady, type Emitter, type ScriptArg } from './port.js'

/** The part that is used of the class of a client's commands, in ioredis 5 and 6 and in iovalkey. */
interface Command {
  args: readonly string[]
  toWritable(stream?: unknown): unknown
}

type CommandClass = new (
  name: string,
  args: readonly string[],
  options: { readonly replyEncoding: 'utf8' },
) => Command

interface Sender extends Commands {
  readonly options?: {
    readonly keyPrefix?: unknown
    readonly enableAutoPipelining?: boolean
    readonly showFriendlyErrorStack?: boolean
  }
  sendCommand(command: Command): Promise<unknown>
}

const OPTIONS = { replyEncoding: 'utf8' } as const

/**
 * EVALSHA by commands that are quick to make. The client's own method takes most of its time for flattening and measuring
 * the arguments, of which a batch has a hundred. Where the client is not as expected, its own method is used.
 */
export function evalshaOf(client: Commands): RedisPort['evalsha'] {
  const ordinary = client.evalsha
  let Quick: (new (args: readonly string[]) => Command) | undefined
  let wasTried = false
  return (sha1, keys, args) => {
    if (!wasTried) {
      wasTried = true
      Quick = quickCommandOf(client)
    }
    // The user may have put another method in its place meanwhile, such as to watch it.
    if (!Quick || client.evalsha !== ordinary) return client.evalsha(sha1, keys.length, ...keys, ...args)
    const prefix = (client as Sender).options?.keyPrefix as string | undefined
    const list = [sha1, String(keys.length)]
    for (const key of keys) list.push(prefix ? prefix + key : key)
    for (const arg of args) list.push(String(arg))
    return (client as Sender).sendCommand(new Quick(list))
  }
}

function quickCommandOf(client: Commands): (new (args: readonly string[]) => Command) | undefined {
  const { keyPrefix, enableAutoPipelining, showFriendlyErrorStack } = (client as Sender).options ?? {}
  if (keyPrefix !== undefined && keyPrefix !== null && typeof keyPrefix !== 'string') return undefined
  if (enableAutoPipelining === true || showFriendlyErrorStack === true) return undefined
  if (Object.hasOwn(client, 'evalsha')) return undefined
  try {
    const Ordinary = classOf(client)
    return Ordinary && quickCommand(Ordinary)
  } catch {
    return undefined
  }
}

/** The class of the client's commands: that of a command which the client makes and hands over here, not to Redis. */
function classOf(client: Commands): CommandClass | undefined {
  let made: Command | undefined
  const catcher = Object.create(client, {
    sendCommand: {
      value: (command: Command) => {
        made = command
      },
    },
  }) as Commands
  quiet(catcher.evalsha('', 0))
  return made?.constructor as CommandClass | undefined
}

function quickCommand(Ordinary: CommandClass): (new (args: readonly string[]) => Command) | undefined {
  class Quick extends Ordinary {
    constructor(args: readonly string[]) {
      super('evalsha', [], OPTIONS)
      // Set afterwards, since the class would flatten and check them, which takes longer than all else.
      this.args = args
    }

    override toWritable(stream?: unknown): unknown {
      return asciiOf(this.args) ?? super.toWritable(stream)
    }
  }
  const sample = ['0'.repeat(300), '', 'x']
  const isSame = new Quick(sample).toWritable() === new Ordinary('evalsha', sample, OPTIONS).toWritable()
  return isSame ? Quick : undefined
}

/** What stands before an argument of this length: joining two texts an argument is quicker than joining four. */
const HEADS = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`)

/** EVALSHA as Redis reads it; undefined if an argument is not ASCII, so that its length in bytes is another. */
function asciiOf(args: readonly string[]): string | undefined {
  let text = `*${args.length + 1}\r\n$7\r\nevalsha`
  for (const arg of args) text += (HEADS[arg.length] ?? `\r\n$${arg.length}\r\n`) + arg
  text += '\r\n'
  return Buffer.byteLength(text) === text.length ? text : undefined
}

export interface Commands extends Emitter {
  readonly status: string
  connect(): Promise<unknown>
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
  info(section: string): Promise<unknown>
}

/** The part that Tollgate uses of a `Redis` of ioredis 5 or 6, or of iovalkey. */
export interface IoredisClient {
  readonly status: string
  readonly options?: object
  connect(): Promise<unknown>
  once(event: 'ready' | 'end', listener: () => void): unknown
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

export function commandsOf(client: Commands): Pick<RedisPort, 'evalsha' | 'eval' | 'del' | 'info'> {
  return {
    evalsha: evalshaOf(client),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    del: (keys) => client.del(...keys),
    info: (section) => client.info(section),
  }
}

/**
 * Resolves once the client sends commands immediately. Before that it queues them, and Redis would count them much too
 * late.
 */
export function becomeReady(client: Commands, faults: ClientFaults): Promise<void> {
  if (client.status === 'end') return Promise.reject(clientClosed())
  const signs = { ready: 'ready', closed: 'end', fault: (thrown: unknown) => faults.errorOf(thrown) }
  return untilReady(client, signs, () => {
    // With lazyConnect the first user must connect. Errors are reported by the client's own events.
    if (client.status === 'wait') client.connect().catch(() => {})
    return undefined
  })
}
