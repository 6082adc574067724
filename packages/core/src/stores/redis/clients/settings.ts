import { quiet } from '../../../base/promises.js'
import { attempt } from '../../../base/show.js'
import { warn } from '../../../base/warnings.js'

/**
 * A setting that a Redis client needs. Without it, a request may count twice, count late or be lost, or the client may be slow
 * to reconnect.
 */
export interface Setting<Options> {
  /** The setting, as the user would write it. */
  readonly use: string
  readonly isSo: (options: Options) => boolean
  /** What the client does without the setting: a sentence. */
  readonly else: string
}

/** A function that keeps the delay between two attempts to connect short, as the user would write it. */
export const SOON = '(times) => Math.min(50 * times, 250)'

export const WAITS_LONG =
  'It can wait more than a second before it reconnects, so Redis decides again that much later.'

const LONGEST_MS = 1000
/** The attempts whose delay is checked. Delays grow with the attempts. */
const TRIES = [1, 10, 100, 1000]

/**
 * Whether a client always waits at most a second before it reconnects. True if it never reconnects: its user chose that.
 *
 * @param strategy the delay before an attempt, in ms, or a function that returns it for the number of the attempt
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
  const faults = wrong.map((setting) => setting.else).join(' ')
  const uses = within(wrong.map(({ use }) => use).join(', '))
  warn(
    'TOLLGATE_REDIS_CLIENT',
    `${client} has settings that do not suit a rate limiter. ${faults} Create it with { ${uses} }.`,
  )
}
