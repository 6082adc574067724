import { quiet } from '../../../base/promises.js'
import { storeErrorOf } from '../wire/decode.js'
import { ClientFaults } from './client-faults.js'
import { clientClosed, shared, untilReady, type Emitter, type RedisPort, type ScriptArg } from './port.js'
import { SOON, triesSoon, WAITS_LONG, warnOf, type Setting } from './settings.js'

export interface Single extends Commands {
  wait(replicas: number, timeoutMs: number): Promise<unknown>
  readonly options?: SingleSettings
  readonly stream?: { readonly writable?: boolean }
}

interface SingleSettings {
  readonly host?: unknown
  readonly path?: unknown
  readonly autoResendUnfulfilledCommands?: boolean
  readonly retryStrategy?: unknown
  readonly sentinels?: unknown
  readonly sentinelRetryStrategy?: unknown
  readonly failoverDetector?: boolean
}

const SINGLE_SETTINGS: readonly Setting<SingleSettings>[] = [
  {
    use: 'autoResendUnfulfilledCommands: false',
    isSo: ({ autoResendUnfulfilledCommands }) => autoResendUnfulfilledCommands === false,
    else: 'It sends commands again if the connection is lost before their replies, so requests can count twice.',
  },
  {
    use: 'failoverDetector: true',
    isSo: ({ sentinels, failoverDetector }) => !sentinels || failoverDetector !== false,
    else: 'It stays on the old primary for seconds after a failover, and what that primary counts is lost.',
  },
  { use: `retryStrategy: ${SOON}`, isSo: ({ retryStrategy }) => triesSoon(retryStrategy), else: WAITS_LONG },
  {
    use: `sentinelRetryStrategy: ${SOON}`,
    isSo: ({ sentinels, sentinelRetryStrategy }) => !sentinels || triesSoon(sentinelRetryStrategy),
    else: 'It can wait more than a second before it asks the sentinels again.',
  },
]

/** Whether it is ioredis's `Redis` or `Cluster`. */
export function isIoredis(client: object): client is Single {
  const { status, evalsha, eval: evaluate, once } = client as Partial<Commands>
  return (
    [evalsha, evaluate, once].every((member) => typeof member === 'function') && typeof status === 'string'
  )
}

export function ioredisPort(client: Single): RedisPort {
  warnOf('This ioredis client', client.options ?? {}, SINGLE_SETTINGS)
  const faults = new ClientFaults(client, { ready: 'ready', connected: 'connect' }, client.status === 'ready')
  client.on('close', () => void faults.note(new Error(LOST_CONNECTION)))
  if (client.options?.failoverDetector === true) goOn(client)
  const becoming = shared(() => becomeReady(client, faults))
  const isReady = (): boolean => client.status === 'ready' && client.stream?.writable !== false
  const waiting = waitingOf(client)
  const { evalsha, eval: evaluate, del, info } = commandsOf(client, waiting)
  const answered = (sent: Promise<unknown>): Promise<unknown> => answeredOrLost(sent, waiting)
  return {
    isCluster: false,
    observe: (listener) => faults.observe(listener),
    cause: () => faults.cause(),
    errorOf: (thrown) => faults.errorOf(thrown),
    ready: () => (isReady() ? undefined : becoming()),
    evalsha,
    eval: (...args) => answered(evaluate(...args)),
    del: (...args) => answered(del(...args)),
    info: (section) => answered(info(section)),
    wait: (replicas, timeoutMs) => answered(client.wait(replicas, timeoutMs)),
  }
}

/**
 * If a failover happens while a client asks the sentinels for the primary, the client stops for good. This connects it again.
 * Such a client reports an error before it ends. One that its owner closes does not.
 */
function goOn(client: Single): void {
  let isCut = false
  client.on('connecting', () => (isCut = false))
  client.on('error', (thrown) => {
    isCut = client.status === 'connecting' && (thrown as Partial<Error>).message === 'Connection is closed.'
  })
  client.on('end', () => {
    if (isCut && client.status === 'end') client.connect().catch(() => {})
  })
}

const LOST_CONNECTION = 'the connection was lost before the reply came'

interface Unanswered {
  /** The index in the list. */
  place: number
  reject(error: Error): void
}

/**
 * The commands that wait for a reply. After a lost connection, ioredis never settles the commands that it does not send again:
 * this rejects them. A list, since adding to a Set and deleting from it would double the work for a command.
 */
class Waiting {
  readonly #list: Unanswered[] = []

  add(one: Unanswered): void {
    one.place = this.#list.push(one) - 1
  }

  delete(one: Unanswered): void {
    const { place } = one
    if (this.#list[place] !== one) return
    const last = this.#list.pop() as Unanswered
    if (last === one) return
    this.#list[place] = last
    last.place = place
  }

  rejectAll(): void {
    const error = storeErrorOf(new Error(LOST_CONNECTION))
    for (const one of this.#list.splice(0)) one.reject(error)
  }
}

/** Undefined for a client that sends lost commands again. */
function waitingOf(client: Single): Waiting | undefined {
  if (client.options?.autoResendUnfulfilledCommands !== false) return undefined
  const waiting = new Waiting()
  client.on('close', () => waiting.rejectAll())
  return waiting
}

function answeredOrLost(sent: Promise<unknown>, waiting: Waiting | undefined): Promise<unknown> {
  if (!waiting) return sent
  return new Promise((resolve, reject) => {
    const one = { place: 0, reject }
    waiting.add(one)
    sent.then(resolve, reject).finally(() => waiting.delete(one))
  })
}

export interface Commands extends Emitter, Omit<IoredisClient, 'once' | 'options'> {
  info(section: string): Promise<unknown>
}

/** What Tollgate uses of a `Redis` or `Cluster` from ioredis 5 or 6, or from iovalkey. */
export interface IoredisClient {
  readonly status: string
  readonly options?: object
  connect(): Promise<unknown>
  once(event: 'ready' | 'end', listener: () => void): unknown
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

/** @param waiting keeps the EVALSHA commands that wait for a reply */
export function commandsOf(
  client: Commands,
  waiting?: Waiting,
): Pick<RedisPort, 'evalsha' | 'eval' | 'del' | 'info'> {
  return {
    evalsha: evalshaOf(client, waiting),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    del: (keys) => client.del(...keys),
    info: (section) => client.info(section),
  }
}

/** Resolves once the client sends commands immediately. Before that it queues them, and Redis would count them much too late. */
export function becomeReady(client: Commands, faults: ClientFaults): Promise<void> {
  if (client.status === 'end') return Promise.reject(clientClosed())
  const signs = { ready: 'ready', closed: 'end', fault: (thrown: unknown) => faults.errorOf(thrown) }
  return untilReady(client, signs, () => {
    // With lazyConnect, the first user must connect. The client's own events report errors.
    if (client.status === 'wait') client.connect().catch(() => {})
    return undefined
  })
}

/** What is used of a client's class for commands, in ioredis 5 and 6 and in iovalkey. */
interface Command extends Unanswered {
  args: readonly string[]
  resolve: (reply: unknown) => unknown
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
 * EVALSHA by commands that are quick to make. The client's own method spends most of its time on flattening and measuring
 * arguments, and a batch has a hundred of them. If the client is not as expected, its own method is used.
 */
export function evalshaOf(client: Commands, waiting?: Waiting): RedisPort['evalsha'] {
  const ordinary = client.evalsha
  let Quick: (new (args: readonly string[]) => Command) | undefined
  let wasTried = false
  return (sha1, keys, args) => {
    if (!wasTried) {
      wasTried = true
      Quick = quickCommandOf(client)
    }
    // The user may have replaced the method, for example to trace calls.
    if (!Quick || client.evalsha !== ordinary)
      return answeredOrLost(client.evalsha(sha1, keys.length, ...keys, ...args), waiting)
    const prefix = (client as Sender).options?.keyPrefix as string | undefined
    const list = [sha1, String(keys.length)]
    for (const key of keys) list.push(prefix ? prefix + key : key)
    for (const arg of args) list.push(String(arg))
    const command = new Quick(list)
    if (waiting) rejectIfLost(command, waiting)
    return (client as Sender).sendCommand(command)
  }
}

/** Like `answeredOrLost`, but uses the command's own promise: another promise would cost as much as everything else here. */
function rejectIfLost(command: Command, waiting: Waiting): void {
  const { resolve, reject } = command
  command.resolve = (reply) => {
    waiting.delete(command)
    return resolve(reply)
  }
  command.reject = (error) => {
    waiting.delete(command)
    reject(error)
  }
  waiting.add(command)
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

/** The client's class for commands. To learn it, the client makes a command that is caught here and not sent. */
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
    override place = 0

    constructor(args: readonly string[]) {
      super('evalsha', [], OPTIONS)
      // Set afterwards, since the class would flatten and check them, which takes longer than everything else.
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

/** What precedes an argument of this length: joining two texts for each argument is quicker than joining four. */
const HEADS = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`)

/** EVALSHA as Redis reads it. Undefined if an argument is not ASCII, since its length in bytes then differs. */
function asciiOf(args: readonly string[]): string | undefined {
  let text = `*${args.length + 1}\r\n$7\r\nevalsha`
  for (const arg of args) text += (HEADS[arg.length] ?? `\r\n$${arg.length}\r\n`) + arg
  text += '\r\n'
  return Buffer.byteLength(text) === text.length ? text : undefined
}
