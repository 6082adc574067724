import { Cluster, type Redis } from 'ioredis'
import type { Client } from '../../connection/client.js'
import { lengthInWords, numberInWords } from '../../output/words.js'
import { failed, ok, warning, type Finding } from './finding.js'

/** The text of INFO as names and values. */
export type Info = ReadonlyMap<string, string>

export function readInfo(text: string): Info {
  return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
}

/** The servers that hold counts: one, or all primaries of a cluster. */
export function serversOf(client: Client): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/** The oldest version that has all commands. */
const [MAJOR, MINOR] = [6, 2]

export function checkVersion(info: Info): Finding {
  const valkey = info.get('valkey_version')
  if (valkey !== undefined) return ok('version', `It is Valkey ${valkey}.`)
  const version = info.get('redis_version')
  if (version === undefined)
    return warning('version', 'It does not say its version.', 'Tollgate needs Redis 6.2 or newer, or Valkey.')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > MAJOR || (major === MAJOR && minor >= MINOR)) return ok('version', `It is Redis ${version}.`)
  return failed(
    'version',
    `It is Redis ${version}, and Tollgate needs ${MAJOR}.${MINOR} or newer.`,
    'Upgrade Redis, or use Valkey.',
  )
}

export function checkMemory(info: Info): Finding {
  const limit = Number(info.get('maxmemory') ?? 0)
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  const used = Number(info.get('used_memory') ?? 0)
  const mb = (bytes: number): string => `${numberInWords(Math.round(bytes / 1e5) / 10)} MB`
  if (policy !== 'noeviction' && policy !== 'unknown') {
    const says = `When it is full, it drops keys (maxmemory-policy ${policy}), and their customers have their whole quota again.`
    const fix = 'CONFIG SET maxmemory-policy noeviction'
    return limit > 0
      ? failed('memory', says, fix)
      : warning('memory', `${says} No maxmemory is set now.`, fix)
  }
  if (limit > 0 && used > 0.8 * limit)
    return warning(
      'memory',
      `It uses ${mb(used)} of ${mb(limit)}. Once it is full, it refuses to count.`,
      'Raise maxmemory.',
    )
  return ok('memory', `It drops no keys. It uses ${mb(used)}${limit > 0 ? ` of ${mb(limit)}` : ''}.`)
}

export function checkPersistence(info: Info): Finding {
  if (info.get('loading') === '1')
    return failed('disk', 'It is loading its data from disk.', 'Wait until it is done.')
  if (info.get('aof_enabled') === '1') return ok('disk', 'It writes changes to disk (appendonly).')
  const saved = Number(info.get('rdb_last_save_time') ?? 0)
  if (info.get('rdb_last_bgsave_status') === 'err')
    return failed('disk', 'Its last snapshot could not be written.', 'See its log.')
  return warning(
    'disk',
    `It does not write changes to disk${saved > 0 ? '' : ' at all'}, so a restart loses counts, rules and top-ups.`,
    'CONFIG SET appendonly yes, then CONFIG REWRITE',
  )
}

export function checkReplication(info: Info): Finding {
  if (info.get('role') === 'slave') {
    const primary = `${info.get('master_host')}:${info.get('master_port')}`
    return failed(
      'replication',
      `This is a replica of ${primary}, and takes no writes.`,
      `Use the address of the primary, redis://${primary}, or --sentinel NAME.`,
    )
  }
  const replicas = Number(info.get('connected_slaves') ?? 0)
  if (replicas === 0) return ok('replication', 'It is a primary without replicas.')
  const least = Number(info.get('min_slaves_good_slaves') ?? -1)
  const good = least >= 0 ? ', and refuses writes without good replicas' : ''
  return ok(
    'replication',
    `It is a primary with ${replicas === 1 ? 'one replica' : `${replicas} replicas`}${good}.`,
  )
}

/** Whether the client that was asked for fits the server. */
export async function checkCluster(client: Client, info: Info): Promise<Finding> {
  const isCluster = info.get('cluster_enabled') === '1'
  const wantsCluster = client instanceof Cluster
  if (!isCluster && !wantsCluster) return ok('cluster', 'It is no cluster, and the client is for one server.')
  if (isCluster && !wantsCluster)
    return failed(
      'cluster',
      'It is a node of a cluster, and the client is for one server.',
      'Pass --cluster, and use new Cluster(nodes) in the application.',
    )
  const text = await client.call('cluster', 'info').then(String, () => '')
  const state = readInfo(text)
  if (text === '') return warning('cluster', 'Its state cannot be read.', 'The user needs +cluster.')
  if (state.get('cluster_state') !== 'ok')
    return failed(
      'cluster',
      `Its state is ${state.get('cluster_state')}, with ${state.get('cluster_slots_assigned')} of 16384 slots.`,
      'redis-cli --cluster check HOST:PORT',
    )
  return ok('cluster', `It is a cluster of ${serversOf(client).length} primaries, and all slots are served.`)
}

/** Clocks that differ more than this are worth a sentence, in ms. */
const MOST_APART_MS = 2000

/** Redis's clock decides. It should be right, since months begin by it. */
export async function checkClock(client: Client): Promise<Finding> {
  const offsets = await Promise.all(
    serversOf(client).map(async (server) => {
      const sentMs = Date.now()
      const [seconds, micros] = (await server.call('time')) as [string, string]
      return Number(seconds) * 1000 + Number(micros) / 1000 - (sentMs + Date.now()) / 2
    }),
  )
  const worst = offsets.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a))
  if (Math.abs(worst) <= MOST_APART_MS) return ok('clock', "Its clock and this machine's agree.")
  const how = `${lengthInWords(Math.abs(worst))} ${worst > 0 ? 'ahead of' : 'behind'}`
  return warning(
    'clock',
    `Its clock is ${how} this machine's. Windows and months begin by its clock.`,
    'Let both keep their time by NTP.',
  )
}

const PINGS = 20

/** How long an answer takes, from here. */
export async function checkLatency(client: Client, deadlineMs: number): Promise<Finding> {
  const times: number[] = []
  for (let i = 0; i < PINGS; i += 1) {
    const start = performance.now()
    await client.time()
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  const [median, slowest] = [times[PINGS / 2] as number, times.at(-1) as number]
  const said = `An answer takes ${median.toFixed(1)} ms from here, the slowest of ${PINGS} took ${slowest.toFixed(1)} ms`
  const fix = 'Run the application near Redis, see LATENCY DOCTOR, or raise deadlineMs.'
  if (median >= deadlineMs)
    return failed('latency', `${said}, longer than the deadline of ${deadlineMs} ms.`, fix)
  if (median * 4 >= deadlineMs) return warning('latency', `${said}. The deadline is ${deadlineMs} ms.`, fix)
  return ok('latency', `${said}. The deadline is ${deadlineMs} ms.`)
}

/** A script must run, and may call commands. */
export async function checkScripting(client: Client): Promise<Finding> {
  try {
    const [one] = (await client.call('eval', "return {redis.call('TIME')[1]}", '0')) as [unknown]
    if (Number(one) > 0) return ok('scripting', 'It runs scripts.')
    return failed('scripting', 'A script gave a wrong answer.', 'Use Redis or Valkey itself.')
  } catch (error) {
    const { message } = error as Error
    if (/\bNOPERM\b|can't run this command/.test(message))
      return failed('scripting', 'The user may not run scripts.', 'See the rights below.')
    if (/\bBUSY\b/.test(message))
      return failed('scripting', 'Another script blocks it.', 'SCRIPT KILL, then SLOWLOG GET')
    return failed('scripting', 'It does not run scripts.', 'Use Redis or Valkey with scripts (EVAL).')
  }
}
