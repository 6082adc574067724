import type { Client } from './node-redis-client.js'
import { elapsedMs } from '../../../base/timers.js'
import type { ClientFaults } from './client-faults.js'
import { clientClosed, shared, untilReady } from './port.js'

/** After a failed start, wait at least this long, in ms, before the next try. */
const START_AGAIN_MS = 500

export interface ReadinessOptions {
  readonly isReady: () => boolean
  readonly faults: ClientFaults
  /** The event of a client that sends commands immediately. */
  readonly ready: string
  /** The event of a client that was closed. */
  readonly closed: string
}

export function readiness(
  client: Client,
  { isReady, faults, ...events }: ReadinessOptions,
): () => Promise<void> | undefined {
  const signs = { ...events, fault: (thrown: unknown) => faults.errorOf(thrown) }
  let wasReady = false
  let isClosed = false
  let failed = { at: Number.NEGATIVE_INFINITY, error: signs.fault(new Error('not connected')) }
  client.on(events.ready, () => (wasReady = true))
  client.on(events.closed, () => (isClosed = true))

  const start = async (): Promise<unknown> => {
    isClosed = false
    return client.connect().catch(async (error: unknown) => {
      failed = { at: elapsedMs(), error: signs.fault(error) }
      // A failed sentinel client of node-redis 5 stays open, and can neither be used nor connected again.
      if (client.isOpen) await client.destroy()
      // Some kinds of client report a failed start as if the user had closed them.
      if (!wasReady && !('socketEpoch' in client)) isClosed = false
      throw error
    })
  }
  let starting: Promise<unknown> | undefined
  const becoming = shared(async () => {
    // A start reports its error before it is over: until then the client is open, and nothing would come of waiting.
    await starting?.catch(() => {})
    if (client.isOpen) return untilReady(client, signs, () => undefined)
    if (isClosed || wasReady || (client.socketEpoch ?? 0) > 0) throw clientClosed()
    if (elapsedMs() - failed.at < START_AGAIN_MS) throw failed.error
    await untilReady(client, signs, () => (starting = start().finally(() => (starting = undefined))))
    // Set here, too, since a pool has no event for it.
    wasReady = true
  })
  return () => {
    if (!isReady()) return becoming()
    wasReady = true
    return undefined
  }
}
