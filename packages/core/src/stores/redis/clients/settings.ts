import { warn } from '../../../base/warnings.js'

/** How a client must be set so that requests count once, and only while somebody waits for them. */
export interface Setting<Options> {
  /** As the user would write it. */
  readonly use: string
  readonly isSo: (options: Options) => boolean
  /** What the client does otherwise. */
  readonly else: string
}

/** Tells in one warning of all settings of a client that are not so. */
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
