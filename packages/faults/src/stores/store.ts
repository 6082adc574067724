import type { Fault } from '../faults/scene.ts'
import { CONTROLS, TENANTS, type Framework } from '../settings.ts'

/** A plan with one limit. */
export interface Plan {
  /** Units per window. */
  readonly quota: number
  readonly windowMs: number
  /** Whether its tenants are served from leases. */
  readonly lease?: true
  /** The units of each top-up that its tenant buys. So the quota is so large that they are never used. */
  readonly topUp?: number
}

/** What differs between the stores that are put through faults. */
export interface StoreUnderTest {
  /** As `--store` takes it, and the file in `app/stores` that opens it. */
  readonly name: string
  readonly title: string
  readonly faults: readonly Fault[]
  /** What an application uses to reach the store. */
  readonly clientOf: Readonly<Record<Framework, string>>
  /** By name. A tenant whose plan is not among them asks for nothing. */
  readonly plans: Readonly<Record<string, Plan>>
  /** The most that the algorithm of its limits ever admits in a window. */
  mostOf(quota: number): number
  /** The windows in which that holds are this much shorter than those of the plan, in ms: as far as clocks may differ. */
  readonly clocksPartMs: number
}

/** The plan of a tenant; undefined of requests that are not limited, and of tenants that this store does not have. */
export function planOf({ plans }: StoreUnderTest, who: string): Plan | undefined {
  return plans[TENANTS[who]?.plan ?? '']
}

/** The tenants that ask this store. */
export function tenantsOf(store: StoreUnderTest): string[] {
  return Object.keys(TENANTS).filter((who) => planOf(store, who))
}

/** Requests per second, of those who ask this store or are not limited. */
export function ratesOf(
  store: StoreUnderTest,
  rates: Readonly<Record<string, number>>,
): Record<string, number> {
  const some = [...tenantsOf(store), ...CONTROLS]
  return Object.fromEntries(Object.entries(rates).filter(([who]) => some.includes(who)))
}

/** What an application on this framework uses to reach the store in this fault. */
export function clientOf(
  { clientOf: clients }: StoreUnderTest,
  { client }: Pick<Fault, 'client'>,
  framework: Framework,
): string {
  return client ?? clients[framework]
}
