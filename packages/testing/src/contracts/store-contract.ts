import { storeContract as checksOf, type Store } from '@tollgate/core/store'

/** Runs the checks for every store as tests. Call it once for each store. */
export function storeContract(name: string, make: () => Store): void {
  describe(`store contract: ${name}`, () => {
    for (const { name: what, check } of checksOf(make)) test(what, check)
  })
}
