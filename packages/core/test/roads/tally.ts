import { isDeep } from '@tollgate/testing'

/** Short names of the laws. */
export const LAWS: Readonly<Record<number, string>> = {
  1: 'never over',
  2: 'all or nothing',
  3: 'truthful remaining',
  4: 'truthful retry',
  5: 'one truth',
  6: 'one clock',
  7: 'plans move',
  8: 'nothing left behind',
  9: 'always an answer',
  10: 'bounded size',
  11: 'counted once',
}

/** The result of one schedule: counts, and the laws that it tested and broke. */
export class Case {
  readonly seed: number
  decisions = 0
  denials = 0
  refunds = 0
  faults = 0
  /** Denials by requests in flight, and slots that were given back. */
  full = 0
  released = 0
  reserved = 0
  /** Of leases: requests that they served, refunds to them, renewals, units that were lost, and looks after all ended. */
  readonly leases = { served: 0, refunded: 0, renewed: 0, lost: 0, rested: 0 }
  /** Denials from memory. */
  remembered = 0
  /** Requests of subjects that brought their limits. */
  brought = 0
  /** Rules that were set. */
  rules = 0
  /** What was booked. */
  bills = 0
  readonly checks = new Map<number, number>()
  readonly broken = new Map<number, string>()

  constructor(seed: number) {
    this.seed = seed
  }

  get isBroken(): boolean {
    return this.broken.size > 0
  }

  /** Counts a check of a law. Only the first failure is kept, because later ones follow from it. */
  check(law: number, holds: boolean, says: () => string): void {
    this.checks.set(law, (this.checks.get(law) ?? 0) + 1)
    if (!holds && !this.broken.has(law)) this.broken.set(law, `seed ${this.seed}: ${says()}`)
  }
}

const COLUMNS = ['schedules', 'checks', 'decisions', 'denials', 'refunds', 'faults', 'broken'] as const
type Row = Record<(typeof COLUMNS)[number], number>

/** Adds up results by law and road. */
export class Tally {
  readonly #rows = new Map<string, Row>()
  readonly #broken = new Map<string, string[]>()

  add(road: string, done: Case): void {
    for (const [law, checks] of done.checks) {
      const row = this.row(law, road)
      row.schedules += 1
      row.checks += checks
      for (const name of ['decisions', 'denials', 'refunds', 'faults'] as const) row[name] += done[name]
      const broken = done.broken.get(law)
      if (broken === undefined) continue
      row.broken += 1
      const key = `${law} ${road}`
      this.#broken.set(key, [...(this.#broken.get(key) ?? []), broken])
    }
  }

  row(law: number, road: string): Row {
    const key = `${law} ${road}`
    const row = this.#rows.get(key) ?? (Object.fromEntries(COLUMNS.map((name) => [name, 0])) as Row)
    this.#rows.set(key, row)
    return row
  }

  /** The first three failures of a law on a road, and the number of the others. */
  brokenBy(law: number, road: string): string[] {
    const all = this.#broken.get(`${law} ${road}`) ?? []
    return all.length > 3 ? [...all.slice(0, 3), `and ${all.length - 3} more schedules`] : all
  }

  /** Shows what was played, in the deep run or when a part of the schedules is chosen. */
  print(): void {
    const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
    if (!isDeep && isPart === undefined) return
    const roads = [...new Set([...this.#rows.keys()].map((key) => key.slice(key.indexOf(' ') + 1)))]
    const laws = Object.keys(LAWS).filter((law) => roads.some((road) => this.#rows.has(`${law} ${road}`)))
    const head = ['schedules a law', ...laws, 'checks', 'decisions', 'denials', 'refunds', 'broken']
    const lines = roads.map((road) => {
      const rows = laws.map((law) => this.#rows.get(`${law} ${road}`))
      const sum = (name: 'checks' | 'broken'): number =>
        rows.reduce((all, row) => all + (row?.[name] ?? 0), 0)
      const most = (name: keyof Row): number => Math.max(...rows.map((row) => row?.[name] ?? 0))
      const met = [sum('checks'), most('decisions'), most('denials'), most('refunds'), sum('broken')]
      return [road, ...rows.map((row) => String(row?.schedules ?? '-')), ...met.map(String)]
    })
    const all = [head, ...lines]
    const widths = head.map((_, i) => Math.max(...all.map((line) => (line[i] as string).length)))
    const show = (line: string[]): string =>
      line
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
    process.stdout.write(`\n${all.map(show).join('\n')}\n`)
  }
}
