import { Oracle } from '../soak/oracle.ts'
import { BOUNDS, COUNTERS, nameOf, namesIn, QUOTA, type Asked, type Kind } from './subjects.ts'

/** A request that was allowed at some moment between `from` and `to`, in ms of the clock that all processes share. */
export interface Allowed extends Asked {
  readonly from: number
  readonly to: number
  /** What decided it, `store` or `local` for example. */
  readonly source: string
}

export interface Evidence {
  readonly allowed: readonly Allowed[]
  /** How much of its daily quota each counter has used, in units, by the counter's name and as the store reports it. */
  readonly used: ReadonlyMap<string, number>
  /** Names of the counters in the shards that were lost. */
  readonly lost: ReadonlySet<string>
  /** When the shards were lost, and when they were back, in ms of the clock that all processes share. */
  readonly loss: { readonly from: number; readonly to: number }
  /** The number of processes, each with a local limiter. */
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

/** Compares what all processes allowed with the bounds, and with the store's counts. */
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
 * Judges two sums: the units allowed by the store, and those allowed by anyone. The second has a higher bound, because
 * each local limiter may allow its share while the store is away.
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
 * Checks that a counter has all units that were allowed for it, and no others. Only a lost shard may have forgotten
 * some.
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
