import type {
  LeaseOrder,
  LeaseReport,
  LeaseWish,
  LimitSet,
  Outcome,
  StoreRequest,
} from '@tollgate/core/store'
import type { Bench } from '../bench.js'
import { all } from '../requests.js'

/** Longer than a check takes. */
const LENGTH_US = 60_000_000

/** The id of the nth lease of a check. */
function idOf(n: number): string {
  return `lease-${String(n).padStart(6, '0')}`
}

export function wish(n: number, most: number, change: Partial<LeaseWish> = {}): LeaseWish {
  return { id: idOf(n), most, least: 1, share: 1, lengthUs: LENGTH_US, lagUs: 0, ...change }
}

export function report(n: number, used: number, left: number): LeaseReport {
  return { id: idOf(n), used, left }
}

/** Sends an order for one key. */
export async function order(
  bench: Bench,
  key: string,
  set: LimitSet,
  given: Partial<LeaseOrder>,
): Promise<Outcome> {
  const parts = [bench.part(key, given.wish?.most ?? 1, set)]
  const request: StoreRequest = { shard: 0, parts, grant: 'lease', order: { reports: [], ...given } }
  const [outcome] = await bench.consume(request)
  return outcome as Outcome
}

/** Units left of the only limit, and those on lease. */
export async function standing(bench: Bench, key: string, set: LimitSet): Promise<(number | undefined)[]> {
  const [outcome] = await bench.peek(all(bench.part(key, 1, set)))
  const { remaining, leased } = (outcome as Outcome).limits[0] ?? {}
  return [remaining, leased]
}
