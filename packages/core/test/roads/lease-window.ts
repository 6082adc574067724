// The fixed windows of the oracle when processes lease. A window opens with the first units that are counted; when those
// of a lease are is not known.
import type { Bounds } from './counter.js'
import { heldOf, type Use } from './lease-use.js'

/** An open window: when it opened, and the units in it. */
interface Open {
  readonly lo: number
  hi: number
  readonly uses: Use[]
}

const VAGUE: Bounds = { least: 0, most: Infinity }
const NOTHING: Bounds = { least: 0, most: 0 }

/**
 * Units that count at `now`; of one use only, if `only` is given. Nothing is known of a window from the first use that
 * may count in it or in the one before, until the limit was not used for a whole window.
 *
 * @param uses in the order of their times
 */
export function usedInFixedWindow(uses: readonly Use[], now: number, windowUs: number, only?: Use): Bounds {
  let open: Open | undefined
  let vagueUntil = -Infinity
  for (const use of uses) {
    if (use.at < vagueUntil || (open && straddles(use, open, windowUs))) {
      vagueUntil = Math.max(vagueUntil, use.upTo + windowUs)
      open = undefined
      continue
    }
    if (open && use.at >= open.hi + windowUs) open = undefined
    if (open) {
      open.uses.push(use)
      if (isCounted(use)) open.hi = Math.min(open.hi, use.upTo)
    } else if (isCounted(use)) open = { lo: use.at, hi: use.upTo, uses: [use] }
    else vagueUntil = use.upTo + windowUs
  }
  if (now < vagueUntil) return VAGUE
  if (!open || now >= open.hi + windowUs) return NOTHING
  const { least, most } = sumOf(only ? open.uses.filter((use) => use === only) : open.uses)
  return now < open.lo + windowUs ? { least, most } : { least: 0, most }
}

/** Whether it may count in this window or in the next. */
function straddles({ at, upTo }: Use, { lo, hi }: Open, windowUs: number): boolean {
  return at < hi + windowUs && upTo >= lo + windowUs
}

/** Whether it surely opened a window, if it was the first: units that came back may never have been counted. */
function isCounted({ isSure, gives }: Use): boolean {
  return isSure && gives.length === 0
}

function sumOf(uses: readonly Use[]): Bounds {
  let [least, most] = [0, 0]
  for (const use of uses) {
    const held = heldOf(use)
    least += held.least
    most += held.most
  }
  return { least, most }
}
