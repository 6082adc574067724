import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, redisStore } from '@tollgate/core'
import { ask, startCluster, type RedisCluster } from '@tollgate/testing/redis'
import { Cluster } from 'ioredis'
import { now } from '../load.ts'
import { COUNTERS, DAY_MS, EXPORT_ROUTE, nameOf, PLANS, QUOTA, subjectOf } from './subjects.ts'

const DOWN_MS = 3000
/** Slots that are moved around the slot of a shard: half below it and half above. */
const SLOTS_MOVED = 20
const LAST_SLOT = 16_383

/** Three primaries without failover: a killed one comes back soon, and empty. */
export function openCluster(): Promise<RedisCluster> {
  return startCluster({
    replicas: 0,
    nodeTimeoutMs: 5000,
    // Living nodes go on serving their slots.
    args: ['--cluster-require-full-coverage', 'no'],
  })
}

export const addressesOf = ({ nodes }: RedisCluster): { host: string; port: number }[] =>
  nodes.map(({ port }) => ({ host: '127.0.0.1', port }))

/** A client with the settings that docs/operations/redis.md asks for. */
export function connectCluster(nodes: readonly { readonly host: string; readonly port: number }[]): Cluster {
  const client = new Cluster([...nodes], {
    retryDelayOnFailover: 0,
    enableOfflineQueue: false,
    maxRedirections: 3,
    slotsRefreshTimeout: 1000,
    clusterRetryStrategy: (times) => Math.min(times * 50, 250),
    redisOptions: { autoResendUnfulfilledCommands: false },
  })
  client.on('error', () => {})
  return client
}

/** The slot of each subject that has been counted, by its id. */
export async function findSlots({ nodes }: RedisCluster): Promise<Map<string, number>> {
  const slots = new Map<string, number>()
  for (const { port } of nodes) {
    for (const key of (await ask(port, 'KEYS', 'tollgate/*')) as string[]) {
      const [id] = /(?:org|user)-[\d-]+/.exec(key) ?? []
      if (id) slots.set(id, Number(await ask(port, 'CLUSTER', 'KEYSLOT', key)))
    }
  }
  return slots
}

export interface Disturbed {
  readonly loss: { readonly from: number; readonly to: number }
  /** Ids of the subjects on the killed primary. */
  readonly lost: ReadonlySet<string>
  readonly moved: number
}

/**
 * Kills the primary of the busiest subject, moves slots of another primary meanwhile, and starts the killed one again.
 */
export async function disturb(cluster: RedisCluster, say: (text: string) => void): Promise<Disturbed> {
  const slots = await findSlots(cluster)
  const ports = new Map<string, number>()
  for (const [id, slot] of slots) ports.set(id, (await cluster.primaryOf(slot)).port)
  const victim = ports.get('org-0')
  const lost = new Set([...ports].filter(([, port]) => port === victim).map(([id]) => id))
  const [moving = ''] = [...ports].find(([id, port]) => port !== victim && id.startsWith('org')) ?? []
  const from = now()
  await cluster.killPrimary(slots.get('org-0'))
  say(`killed the primary of ${lost.size} of ${slots.size} subjects`)
  const moved = await moveAround(cluster, slots.get(moving) ?? 0, victim)
  say(`moved ${moved} slots, that of ${moving} among them, in ${(now() - from).toFixed(0)} ms`)
  await sleep(Math.max(0, from + DOWN_MS - now()))
  await cluster.restart()
  const to = now()
  say(`it is back after ${(to - from).toFixed(0)} ms, without a key`)
  return { loss: { from, to }, lost, moved }
}

async function moveAround(cluster: RedisCluster, slot: number, victim: number | undefined): Promise<number> {
  const { port } = await cluster.primaryOf(slot)
  const to = cluster.nodes.find((node) => node.port !== port && node.port !== victim)
  if (!to) throw new Error('no primary to move slots to')
  const first = Math.max(0, Math.min(slot - SLOTS_MOVED / 2, LAST_SLOT - SLOTS_MOVED))
  let moved = 0
  for (let i = first; i < first + SLOTS_MOVED; i += 1) {
    const owner = await cluster.primaryOf(i)
    if (owner.port !== port) continue
    await cluster.moveSlot(i, to)
    moved += 1
  }
  return moved
}

/** Units used of the day of every counter, as the store reports them. */
export async function readUsed(cluster: RedisCluster): Promise<Map<string, number>> {
  const client = connectCluster(addressesOf(cluster))
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'user',
    store: redisStore(client),
    deadlineMs: 5000,
  })
  const exportRoute = limiter.scope(EXPORT_ROUTE)
  const used = new Map<string, number>()
  for (const counter of COUNTERS) {
    const isExport = counter.kind === 'export'
    const { limits } = await (isExport ? exportRoute : limiter).peek(subjectOf(counter))
    const days = limits.filter(({ windowMs }) => windowMs === DAY_MS)
    // The stacked limit is listed after those of the plan.
    const day = isExport ? days[1] : days[0]
    if (day) used.set(nameOf(counter), QUOTA[counter.kind] - day.remaining)
  }
  await limiter.close()
  client.disconnect()
  return used
}
