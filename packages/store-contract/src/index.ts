/**
 * What every store of Tollgate must do, as checks for any test runner. docs/guides/writing-a-store.md says how to use them.
 */
export { storeContract, type StoreCheck } from './store-contract.js'
export type { PassTime, StoreContractOptions } from './options.js'
