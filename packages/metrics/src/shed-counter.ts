import { ATTRIBUTES, type Instruments } from './instruments.js'
import { sumOf, type Ledger, type Sum } from './ledger.js'
import type { Settings } from './options.js'

/** Makes what counts requests that were shed, by the names of their plans. */
export function shedCounter(
  settings: Settings,
  instruments: Instruments,
  ledger: Ledger,
): (plan: string) => void {
  const sums = new Map<string, Sum>()
  return (plan) => {
    let sum = sums.get(plan)
    if (!sum) {
      sum = sumOf(instruments.shed, { ...settings.attributes, [ATTRIBUTES.plan]: plan })
      sums.set(plan, sum)
    }
    ledger.add(sum, 1)
  }
}
