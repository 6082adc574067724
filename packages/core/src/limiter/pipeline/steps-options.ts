import type { FastPaths } from '../../features/fast-paths.js'
import type { Backing } from './backing.js'
import type { StepsOptions } from './turn-clock.js'
import type { UnitsBack } from '../settle/units-back.js'

/** How requests in several steps are decided. */
export function stepsOptionsOf(
  { fallback, holds, deadlines }: Backing,
  unitsBack: UnitsBack,
  { fastPaths, ask }: Pick<StepsOptions, 'ask'> & { readonly fastPaths: FastPaths },
): StepsOptions {
  return {
    deadlines,
    ask,
    makeRoom: ({ source, step, outcome }) =>
      source === 'store' && outcome ? fastPaths.makeRoom(step, outcome) : undefined,
    fallBack: (step, error) => fallback.decide(step, error),
    onLate: ({ source, step, outcome }) => {
      if (source !== 'store' || !outcome) return
      fallback.late([step], [outcome])
      holds.late([step], [outcome])
    },
    giveBack: (verdict, units) => void unitsBack.give(verdict, units),
    onDecided: ({ source, step }) => {
      if (source === 'local') fallback.release(step)
    },
  }
}
