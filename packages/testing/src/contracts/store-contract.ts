import { storeContract as checksOf, type Store } from '@tollgate/core/store'

/** What every store must do, whatever it keeps its counts in. Call it once for each store. */
export function storeContract(name: string, make: () => Store): void {
  describe(`store contract: ${name}`, () => {
    for (const { name: what, check } of checksOf(make)) test(what, check)
  })
}
