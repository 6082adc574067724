import { type LimitSet, capacityOf } from '../plans/limit/limit-set.js'
import { isDenying } from '../plans/limit/overage-limit.js'
import { type Part, type Request, takesSlots } from './request.js'

/**
 * Divides a request into steps: one per shard, or one per part if the store is not atomic. Returns undefined if one is enough.
 * First come steps that count requests in flight: such denials are never remembered, so behind other steps each request of a
 * flood would take units that go back, and leave an id. Then the smallest quota comes first: it is the most likely to deny,
 * and then nothing was taken from the others. Equal ones are sorted by key, so that requests of the same subjects take in the
 * same order and never block each other.
 */
export function stepsOf(request: Request, isAtomic: boolean): readonly Request[] | undefined {
  const { parts } = request
  if (parts.length < 2) return undefined
  const groups = isAtomic ? byShard(parts) : parts.map((part) => [part])
  if (groups.length < 2) return undefined
  return groups
    .map((group) => stepOf(request, group))
    .toSorted(
      (a, b) =>
        Number(takesSlots(b)) - Number(takesSlots(a)) ||
        roomOf(a.parts) - roomOf(b.parts) ||
        (keyOf(a) < keyOf(b) ? -1 : 1),
    )
}

function stepOf(request: Request, parts: readonly Part[]): Request {
  const [first] = parts as readonly [Part, ...Part[]]
  const limits = parts.length === 1 ? first.limits : parts.flatMap((part) => part.limits)
  return { ...request, parts, limits, shard: first.shard, steps: undefined }
}

function byShard(parts: readonly Part[]): Part[][] {
  const groups = new Map<number, Part[]>()
  for (const part of parts) {
    const group = groups.get(part.shard)
    if (group) group.push(part)
    else groups.set(part.shard, [part])
  }
  return [...groups.values()]
}

function keyOf({ parts }: Request): string {
  return (parts[0] as Part).key
}

/**
 * The most units that one request can take. 0 if only requests in flight are counted, which takes none. Infinity if nothing denies: then
 * it comes last.
 */
function roomOf(parts: readonly Part[]): number {
  const room = Math.min(...parts.map(({ set }) => capacityOfSet(set)))
  const isInFlightAlone = room === Infinity && !parts.some(({ set }) => set.isLenient)
  return isInFlightAlone ? 0 : room
}

const capacities = new WeakMap<LimitSet, number>()

/** The most units that one request can take from these limits; Infinity if they count requests in flight only. */
function capacityOfSet(set: LimitSet): number {
  const known = capacities.get(set)
  if (known !== undefined) return known
  const now = Date.now()
  const counted = set.limits.filter((limit, i) => isDenying(limit) && i !== set.inFlightIndex)
  const capacity = Math.min(...counted.map((limit) => capacityOf(limit, now)))
  capacities.set(set, capacity)
  return capacity
}
