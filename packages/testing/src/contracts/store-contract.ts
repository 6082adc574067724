import type { Store } from '@tollgate/core/store'
import { storeContract as checksOf, type StoreContractOptions } from '@tollgate/store-contract'

/** Makes a test of each check that every store must pass. Call it once for each store. */
export function storeContract(name: string, make: () => Store, options?: StoreContractOptions): void {
  describe(`store contract: ${name}`, () => {
    for (const { name: what, check } of checksOf(make, options)) test(what, check)
  })
}
