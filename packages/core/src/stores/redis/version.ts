import type { RedisPort } from './clients/index.js'

const NEEDED = [6, 2] as const
const asked = new WeakSet<RedisPort>()

/** Warns, once a client, of a Redis that is older than the scripts need. Who may not ask is not told. */
export function warnOfOldServer(port: RedisPort): void {
  if (asked.has(port)) return
  asked.add(port)
  port.info().then(
    (info) => {
      const old = oldVersionIn(String(info))
      if (old === undefined) return
      process.emitWarning(
        `This Redis is version ${old}, and Tollgate needs ${NEEDED.join('.')} or newer, or Valkey: ` +
          'requests can fail, and are then left to onStoreFailure.',
        'TollgateWarning',
      )
    },
    () => {},
  )
}

/** The version in the text of INFO, where it is too old. */
export function oldVersionIn(info: string): string | undefined {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)[^\s]*)/m.exec(info) ?? []
  if (version === undefined) return undefined
  const isOld = Number(major) < NEEDED[0] || (Number(major) === NEEDED[0] && Number(minor) < NEEDED[1])
  return isOld ? version : undefined
}
