import { needOptions } from '../base/option-checks.js'
import { ConfigError } from '../base/errors.js'

/** Which families of headers tell a client where it stands. */
export interface HeaderOptions {
  /** `RateLimit` and `RateLimit-Policy` of the IETF draft, one item a limit. Default: true. */
  readonly standard?: boolean
  /** `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds), of the limit closest to denying. Default: true. */
  readonly single?: boolean
  /** `X-RateLimit-*` of the same limit, its reset in seconds from now or since 1970. Default: false. */
  readonly legacy?: false | 'delta' | 'epoch'
  /**
   * Adds `pk` to the standard ones: a short hash of whose each limit is. Short ids can be guessed from it, unless the
   * limiter has `hashIds`, whose secret then goes into it. Default: false.
   */
  readonly partitionKey?: boolean
  /** Lets scripts of other origins read all these headers (`Access-Control-Expose-Headers`). Default: false. */
  readonly expose?: boolean
}

const SWITCHES = ['standard', 'single', 'partitionKey', 'expose'] as const

export function readHeaderOptions(options: HeaderOptions | false): Required<HeaderOptions> {
  const none = { standard: false, single: false, legacy: false, partitionKey: false, expose: false } as const
  if (options === false) return none
  needOptions(options, Object.keys(none), 'headers')
  const all = { ...none, standard: true, single: true, ...options }
  for (const name of SWITCHES) {
    if (typeof all[name] !== 'boolean') throw ConfigError.wrong(`headers.${name}`, all[name], 'true or false')
  }
  if (![false, 'delta', 'epoch'].includes(all.legacy)) {
    throw ConfigError.wrong('headers.legacy', all.legacy, "false, 'delta' or 'epoch'")
  }
  return all
}
