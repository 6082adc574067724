import { givenOf, needOptions, type Given } from '../../base/options.js'
import { ConfigError } from '../../base/errors.js'

/** Which rate limit headers are sent. */
export interface HeaderOptions {
  /** `RateLimit` and `RateLimit-Policy` of the IETF draft, with one item per limit. Default: true. */
  readonly standard?: boolean | undefined
  /** `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds) of the limit that is closest to denying. Default: true. */
  readonly single?: boolean | undefined
  /**
   * `X-RateLimit-*` of the same limit. The reset is in seconds from now with `delta`, and in seconds since 1970 with
   * `epoch`. Default: false.
   */
  readonly legacy?: false | 'delta' | 'epoch' | undefined
  /**
   * Adds `pk` to the standard headers: a short hash of the subject that each limit belongs to. Short ids can be guessed
   * from the hash, unless the limiter has `hashIds`: then it is made with that secret. Default: false.
   */
  readonly partitionKey?: boolean | undefined
  /** Lets scripts of other origins read all these headers (`Access-Control-Expose-Headers`). Default: false. */
  readonly expose?: boolean | undefined
}

const SWITCHES = ['standard', 'single', 'partitionKey', 'expose'] as const

export function readHeaderOptions(options: HeaderOptions | false): Required<Given<HeaderOptions>> {
  const none = { standard: false, single: false, legacy: false, partitionKey: false, expose: false } as const
  if (options === false) return none
  needOptions(options, Object.keys(none), 'headers')
  const all = { ...none, standard: true, single: true, ...givenOf(options) }
  for (const name of SWITCHES) {
    if (typeof all[name] !== 'boolean') throw ConfigError.wrong(`headers.${name}`, all[name], 'true or false')
  }
  if (![false, 'delta', 'epoch'].includes(all.legacy)) {
    throw ConfigError.wrong('headers.legacy', all.legacy, "false, 'delta' or 'epoch'")
  }
  return all
}
