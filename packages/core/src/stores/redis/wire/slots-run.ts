import type { CompiledLimit } from '../../../plans/limit/limit-set.js'
import type { ScriptArg } from '../clients/index.js'
import type { Layout } from '../layout.js'
import { encodeOne } from './limit-sets.js'
import type { EncodedRequests } from './requests.js'
import type { OnlySlotsRun } from './runs.js'

/** A run as consume-slots.lua reads it, from ARGV[2] on. */
export function encodeSlots(
  { set, cost, holder, asked, released }: OnlySlotsRun,
  layout: Layout,
  { shard, nowMs, keptMs }: { readonly shard: number; readonly nowMs: number; readonly keptMs: number },
): EncodedRequests {
  const { stateId, paramsAt } = set.limits[1] as CompiledLimit
  const { quota = 0, hintUs = 0 } = paramsAt(nowMs)
  const [ttl = '', ...limit] = encodeOne(set, nowMs, keptMs)
  const asking = asked.flatMap(({ slots, members }) => [slots?.held ?? 0, slots?.known ?? 0, members.length])
  const releasing = released.flatMap(({ slots }) => [slots?.held ?? 0, slots?.known ?? 0])
  const all = [...asked, ...released]
  const lists: ScriptArg[] = [JSON.stringify(asking), JSON.stringify(releasing)]
  return {
    keys: all.map(({ key }) => layout.nameOf(key, shard)),
    args: [cost, ttl, holder, ...lists, stateId, quota, hintUs, ...limit],
    answered: all.map(({ members }) => members),
  }
}
