import { ConfigError, type Store } from '@tollgate/core/store'

/** Sets the clock of a store some ms ahead. */
export type PassTime = (store: Store, ms: number) => void

/** What a test knows of a store, and what the store does otherwise than most. Say the latter in its documentation, too. */
export interface StoreContractOptions {
  /**
   * Sets the clock of a store that `make` made some ms ahead: it must go on from there. Default: checks that wait for long
   * are left out.
   */
  readonly passTime?: PassTime | undefined
  /**
   * When the windows of `fixed-window` begin: with the first request, as those of `implementations` do, or `aligned`, at
   * multiples of their length since 1970. Default: `at-first-request`.
   */
  readonly windows?: 'at-first-request' | 'aligned' | undefined
  /**
   * Whether a request that would fit can be denied while others of its key are decided, because they hold units until it is
   * known that they are denied. A store of counters without transactions is like that. More than the quota is never admitted, and
   * requests one after another find all units that are left. Default: false.
   */
  readonly falseDenials?: boolean | undefined
  /**
   * By how many ms the store's clock may be wrong, so that it can jump when it is set right, such as with a server that gives
   * its time in seconds. Default: 0.
   */
  readonly clockErrorMs?: number | undefined
}

const EXPECTED: {
  readonly [Name in keyof StoreContractOptions]-?: readonly [(given: unknown) => boolean, string]
} = {
  passTime: [
    (given) => typeof given === 'function',
    'a function (store, ms) that sets the clock of a store ahead',
  ],
  windows: [
    (given) => given === 'at-first-request' || given === 'aligned',
    "'at-first-request' or 'aligned'",
  ],
  falseDenials: [(given) => typeof given === 'boolean', 'true or false'],
  clockErrorMs: [(given) => Number.isFinite(given) && (given as number) >= 0, 'a number of ms from 0'],
}

/** @throws {ConfigError} when an option does not exist, or has a value that it cannot have */
export function checkOptions(options: StoreContractOptions): void {
  for (const [name, given] of Object.entries(options)) {
    const [isRight, expected] = EXPECTED[name as keyof StoreContractOptions] ?? []
    if (!isRight || !expected)
      throw new ConfigError(
        `options.${name}`,
        `no such option; there are ${Object.keys(EXPECTED).join(', ')}`,
      )
    if (given !== undefined && !isRight(given)) throw ConfigError.wrong(`options.${name}`, given, expected)
  }
}
