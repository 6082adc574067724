import { warn } from '../../../base/warnings.js'

/**
 * A setting that a Redis client needs. Without it, a request may count twice, or count after its caller stopped
 * waiting.
 */
export interface Setting<Options> {
  /** The setting as the user would write it. */
  readonly use: string
  readonly isSo: (options: Options) => boolean
  /** What the client does if the setting is missing, in words. */
  readonly else: string
}

/** Emits one warning that names all missing settings of a client. */
export function warnOf<Options>(
  client: string,
  options: Options,
  settings: readonly Setting<Options>[],
): void {
  const wrong = settings.filter(({ isSo }) => !isSo(options))
  if (wrong.length === 0) return
  const faults = wrong.map((setting) => setting.else).join('; ')
  const uses = wrong.map(({ use }) => use).join(', ')
  warn('TOLLGATE_REDIS_CLIENT', `${client} is not set for counting: ${faults}. Make it with { ${uses} }.`)
}
