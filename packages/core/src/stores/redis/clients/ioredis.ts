import type { StoreError } from '../../../base/errors.js'
import { storeErrorOf } from '../wire/decode.js'
import { ClientFaults } from './client-faults.js'
import { shared, type RedisPort } from './port.js'
import { SOON, triesSoon, WAITS_LONG, warnOf, type Setting } from './settings.js'
import { becomeReady, commandsOf, type Commands } from './ioredis-evalsha.js'
import { ioredisClusterPort, type Cluster } from './ioredis-cluster.js'

interface Single extends Commands {
  wait(replicas: number, timeoutMs: number): Promise<unknown>
  readonly options?: SingleSettings
  readonly stream?: { readonly writable?: boolean }
}

interface SingleSettings {
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
    else: 'it sends commands again when a connection was lost before their replies came, so that requests can count twice',
  },
  {
    use: 'failoverDetector: true',
    isSo: ({ sentinels, failoverDetector }) => !sentinels || failoverDetector !== false,
    else: 'it stays on the old primary for seconds after a failover, and what that counts is lost',
  },
  { use: `retryStrategy: ${SOON}`, isSo: ({ retryStrategy }) => triesSoon(retryStrategy), else: WAITS_LONG },
  {
    use: `sentinelRetryStrategy: ${SOON}`,
    isSo: ({ sentinels, sentinelRetryStrategy }) => !sentinels || triesSoon(sentinelRetryStrategy),
    else: 'it can wait longer than a second before it asks the sentinels again',
  },
]

export function isIoredis(client: object): boolean {
  const { status, evalsha, eval: evaluate, once } = client as Partial<Commands>
  return (
    [evalsha, evaluate, once].every((member) => typeof member === 'function') && typeof status === 'string'
  )
}

export function ioredisPort(client: object): RedisPort {
  return (client as Partial<Cluster>).isCluster === true
    ? ioredisClusterPort(client as Cluster)
    : singlePort(client as Single)
}

function singlePort(client: Single): RedisPort {
  warnOf('This ioredis client', client.options ?? {}, SINGLE_SETTINGS)
  const faults = new ClientFaults(client, { ready: 'ready', connected: 'connect' }, client.status === 'ready')
  client.on('close', () => void faults.note(new Error(LOST_CONNECTION)))
  if (client.options?.failoverDetector === true) goOn(client)
  const becoming = shared(() => becomeReady(client, faults))
  const isReady = (): boolean => client.status === 'ready' && client.stream?.writable !== false
  const { evalsha, eval: evaluate, del, info } = commandsOf(client)
  const answered = answeredOrLost(client)
  return {
    isCluster: false,
    observe: (listener) => faults.observe(listener),
    cause: () => faults.cause(),
    errorOf: (thrown) => faults.errorOf(thrown),
    ready: () => (isReady() ? undefined : becoming()),
    evalsha: (...args) => answered(evalsha(...args)),
    eval: (...args) => answered(evaluate(...args)),
    del: (...args) => answered(del(...args)),
    info: (section) => answered(info(section)),
    wait: (replicas, timeoutMs) => answered(client.wait(replicas, timeoutMs)),
  }
}

/**
 * A client that hears of a failover while it asks the sentinels for the primary ends for good. This connects it again. It
 * gives an error then, as it does not when its owner closes it.
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

/** After a lost connection, ioredis never settles the commands that it does not send again. This rejects them. */
function answeredOrLost(client: Single): (sent: Promise<unknown>) => Promise<unknown> {
  if (client.options?.autoResendUnfulfilledCommands !== false) return (sent) => sent
  const waiting = new Set<(error: StoreError) => void>()
  client.on('close', () => {
    const error = storeErrorOf(new Error(LOST_CONNECTION))
    for (const fail of waiting) fail(error)
    waiting.clear()
  })
  return (sent) =>
    new Promise((resolve, reject) => {
      waiting.add(reject)
      sent.then(
        (reply) => {
          waiting.delete(reject)
          resolve(reply)
        },
        (error: unknown) => {
          waiting.delete(reject)
          reject(error as Error)
        },
      )
    })
}
