import { Oracle } from '../soak/oracle.ts'
import { BOUNDS, COUNTERS, nameOf, namesIn, QUOTA, type Asked, type Kind } from './subjects.ts'

/** A request that was allowed at some moment between `from` and `to`, in ms since 1970. */
export interface Allowed extends Asked {
  readonly from: number
  readonly to: number
  /** Source of the decision, such as `store` or `local`. */
  readonly source: string
}

export interface Evidence {
  readonly allowed: readonly Allowed[]
  /** By name of the counter: units of its daily limit that are used, as the store reports. */
  readonly used: ReadonlyMap<string, number>
  /** Names of the counters in the shards that were lost. */
  readonly lost: ReadonlySet<string>
  /** From the loss of the shards to their return, in ms since 1970. */
  readonly loss: { readonly from: number; readonly to: number }
  /** Number of processes, each of which may limit by itself while the store cannot answer. */
  readonly processes: number
}

export interface Row {
  readonly kind: Kind
  readonly isLost: boolean
  counters: number
  allowed: number
  used: number
  /** Counters with no unit left. */
  full: number
  wrong: number
}

export interface Verdict {
  readonly rows: readonly Row[]
  readonly violations: readonly string[]
  readonly windows: number
}

/** Compares the requests that all processes allowed with the bounds of the limits and with the counts in the store. */
export function judge(evidence: Evidence): Verdict {
  const byCounter = new Map<string, Allowed[]>(COUNTERS.map((counter) => [nameOf(counter), []]))
  for (const one of evidence.allowed) for (const name of namesIn(one)) byCounter.get(name)?.push(one)
  const rows = new Map<string, Row>()
  const violations: string[] = []
  let windows = 0
  for (const counter of COUNTERS) {
    const name = nameOf(counter)
    const { kind } = counter
    const allowed = byCounter.get(name) ?? []
    const isLost = evidence.lost.has(name)
    const oracle = judgeWindows(kind, allowed, isLost, evidence)
    windows += oracle.judged
    const wrong = [...oracle.violations, ...judgeCount(name, kind, allowed, evidence)].map(
      (what) => `${name}: ${what}`,
    )
    violations.push(...wrong)
    const key = `${kind} ${isLost}`
    const row = rows.get(key) ?? { kind, isLost, counters: 0, allowed: 0, used: 0, full: 0, wrong: 0 }
    rows.set(key, row)
    const used = evidence.used.get(name) ?? 0
    row.counters += 1
    row.allowed += allowed.length
    row.used += used
    row.full += used >= QUOTA[kind] ? 1 : 0
    row.wrong += wrong.length
  }
  return { rows: [...rows.values()], violations, windows }
}

/**
 * Judges two sums: the units admitted by the store, and those admitted by anyone. The second has a higher bound: each
 * process may admit its share by itself while the store is silent.
 */
function judgeWindows(
  kind: Kind,
  allowed: readonly Allowed[],
  isLost: boolean,
  { processes, loss }: Evidence,
): Oracle {
  const shares = BOUNDS[kind].map(({ windowMs, units }) => ({
    windowMs,
    units: units + processes * Math.max(1, Math.floor(units / processes)),
  }))
  const oracle = new Oracle((tenant) => (tenant === 'by anyone' ? shares : BOUNDS[kind]))
  if (isLost) oracle.lose(loss.from, loss.to)
  for (const { from, to, source } of allowed) {
    if (source === 'store') oracle.add({ tenant: 'by the store', by: 'store', from, to })
    oracle.add({ tenant: 'by anyone', by: 'store', from, to })
  }
  oracle.judge(Infinity)
  return oracle
}

/**
 * The store must have counted every allowed request, up to the quota, and no others. In a lost shard it must have
 * counted only the requests after its return.
 */
function judgeCount(
  name: string,
  kind: Kind,
  allowed: readonly Allowed[],
  { used: all, lost, loss }: Evidence,
): string[] {
  const used = all.get(name)
  if (used === undefined) return ['the store did not say what is used']
  const most = Math.min(QUOTA[kind], allowed.length)
  const kept = lost.has(name) ? allowed.filter(({ from }) => from > loss.to).length : allowed.length
  const least = Math.min(QUOTA[kind], kept)
  if (used < least) return [`${kept} allowed, ${used} counted: ${least - used} for free`]
  return used > most ? [`${allowed.length} allowed, ${used} counted`] : []
}
