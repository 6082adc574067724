import { warn } from '../../base/warnings.js'
import type { RedisPort } from './clients/index.js'

const NEEDED = [6, 2] as const
const asked = new WeakSet<RedisPort>()

/** Warns once per client about a Redis that is too old or evicts keys. No permission for INFO: no warning. */
export function warnOfServer(port: RedisPort): void {
  if (asked.has(port)) return
  asked.add(port)
  const ask = (section: string, warningFor: (info: string) => string | undefined): void => {
    port.info(section).then(
      (info) => {
        const warning = warningFor(String(info))
        if (warning !== undefined) warn('TOLLGATE_REDIS_SERVER', warning)
      },
      () => {},
    )
  }
  ask('server', versionWarning)
  ask('memory', evictionWarning)
}

/** The warning for an INFO server text whose version is older than the scripts need. */
export function versionWarning(info: string): string | undefined {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)[^\s]*)/m.exec(info) ?? []
  if (version === undefined) return undefined
  const isOld = Number(major) < NEEDED[0] || (Number(major) === NEEDED[0] && Number(minor) < NEEDED[1])
  if (!isOld) return undefined
  return (
    `This Redis is version ${version}, and Tollgate needs ${NEEDED.join('.')} or newer, or Valkey: ` +
    'requests can fail, and are then left to onStoreFailure.'
  )
}

/** The warning for an INFO memory text of a server that drops keys when it is full. */
export function evictionWarning(info: string): string | undefined {
  const [, maxmemory] = /^maxmemory:(\d+)/m.exec(info) ?? []
  const [, policy] = /^maxmemory_policy:([\w-]+)/m.exec(info) ?? []
  if (!Number(maxmemory) || policy === undefined || policy === 'noeviction') return undefined
  return (
    `This Redis drops keys when it is full (maxmemory-policy ${policy}): a subject whose key is dropped has all of its ` +
    'quota again. Type: CONFIG SET maxmemory-policy noeviction, or give Tollgate a Redis of its own.'
  )
}
