import { quiet } from '../../../base/promises.js'
import { attempt } from '../../../base/show.js'
import { warn } from '../../../base/warnings.js'

/**
 * A setting that a Redis client needs. Without it, a request may count twice, late or where it is lost, or Redis is used
 * again late.
 */
export interface Setting<Options> {
  /** The setting as the user would write it. */
  readonly use: string
  readonly isSo: (options: Options) => boolean
  /** What the client does if the setting is missing, in words. */
  readonly else: string
}

/** A function that gives short times between two tries to connect, as the user would write it. */
export const SOON = '(times) => Math.min(50 * times, 250)'

export const WAITS_LONG =
  'it can wait longer than a second before it reconnects, so Redis is used again that much later'

const LONGEST_MS = 1000
/** The numbers of tries that are asked for: times grow with them. */
const TRIES = [1, 10, 100, 1000]

/**
 * Whether a client tries to connect again within a second each time. One that never does so was set to.
 *
 * @param strategy how long it waits before a try, in ms, or a function of the number of the try
 */
export function triesSoon(strategy: unknown): boolean {
  if (typeof strategy !== 'function') return !(Number(strategy) > LONGEST_MS)
  return TRIES.every((times) => {
    const ms: unknown = attempt(() => (strategy as (times: number) => unknown)(times), undefined)
    quiet(ms)
    return !(typeof ms === 'number' && ms > LONGEST_MS)
  })
}

/** Emits one warning that names all missing settings of a client. */
export function warnOf<Options>(
  client: string,
  options: Options,
  settings: readonly Setting<Options>[],
  within = (uses: string): string => uses,
): void {
  const wrong = settings.filter(({ isSo }) => !isSo(options))
  if (wrong.length === 0) return
  const faults = wrong.map((setting) => setting.else).join('; ')
  const uses = within(wrong.map(({ use }) => use).join(', '))
  warn(
    'TOLLGATE_REDIS_CLIENT',
    `${client} has settings that are wrong for counting: ${faults}. Create it with { ${uses} }.`,
  )
}
