import { storeContract as checksOf, type Store } from '@tollgate/core/store'

/** Makes a test of each check that every store must pass. Call it once for each store. */
export function storeContract(name: string, make: () => Store): void {
  describe(`store contract: ${name}`, () => {
    for (const { name: what, check } of checksOf(make)) test(what, check)
  })
}
