import type { Usage } from '../../algorithms/implementation.js'
import type { RefundRequest, StoreRequest, SubRequest } from '../contract.js'
import type { ScriptArg } from './clients/index.js'
import type { Layout } from './layout.js'
import type { LimitSets } from './limit-sets.js'

/** Keys and arguments of a script. */
export interface Encoded {
  readonly keys: string[]
  readonly args: ScriptArg[]
}

/** Requests as consume.lua reads them. Those of one subject in a row with the same set and cost are sent as a group. */
export function encodeRequests(batch: readonly StoreRequest[], sets: LimitSets, layout: Layout): Encoded {
  const keys: string[] = []
  const args: ScriptArg[] = []
  let last: SubRequest | undefined
  let count = 0
  const close = (): void => {
    if (last) args.push(sets.indexOf(last.set), last.cost, count)
    last = undefined
  }
  for (const request of batch) {
    const { shard, parts, grant, id } = request
    for (const { key } of parts) keys.push(layout.nameOf(key, shard))
    const [first] = parts
    if (first && parts.length === 1 && grant === 'all') {
      if (last?.set !== first.set || last.cost !== first.cost) {
        close()
        last = first
        count = 0
      }
      count += 1
      continue
    }
    close()
    args.push(...encodeTogether(request, sets))
    if (grant === 'force' && id !== undefined) keys.push(layout.nameOfId(id, shard))
  }
  close()
  return { keys, args }
}

function encodeTogether({ parts, grant, id }: StoreRequest, sets: LimitSets): ScriptArg[] {
  const isForce = grant === 'force'
  const args: ScriptArg[] = [0, parts.length, isForce && id !== undefined ? 'once' : grant]
  for (const { set, cost, used = [] } of parts) {
    args.push(sets.indexOf(set), isForce ? JSON.stringify(used.map(encodeUsage)) : cost)
  }
  return args
}

function encodeUsage(used: readonly Usage[]): number[] {
  return used.flatMap(({ units, ageUs }) => [units, ageUs])
}

/** Refunds as refund.lua reads them. */
export function encodeRefunds(batch: readonly RefundRequest[], sets: LimitSets, layout: Layout): Encoded {
  const keys: string[] = []
  const args: ScriptArg[] = []
  for (const { shard, parts, id } of batch) {
    args.push(parts.length, id === undefined ? 0 : 1)
    for (const { key, set, receipts } of parts) {
      keys.push(layout.nameOf(key, shard))
      args.push(sets.indexOf(set))
      for (let i = 0; i < set.limits.length; i += 1) {
        const { units = 0, at = 0, remaining = 0, reset = 0 } = receipts[i] ?? {}
        args.push(units, at, remaining, reset)
      }
    }
    if (id !== undefined) keys.push(layout.nameOfId(id, shard))
  }
  return { keys, args }
}
