/**
 * For authors of stores: the contract, and the algorithms to decide with. Its test is @tollgate/store-contract.
 * docs/writing-a-store.md begins with the shortest one that works; docs/store-contract.md has all of the contract.
 */
export type {
  Answer,
  Call,
  Grant,
  Hold,
  HoldOutcome,
  LeaseOrder,
  LeaseOutcome,
  LeaseReport,
  LeaseWish,
  LimitOutcome,
  Outcome,
  RefundAnswer,
  RefundPart,
  RefundRequest,
  SlotHolder,
  Store,
  StoreAbilities,
  StoreListener,
  StoreRequest,
  SubRequest,
} from './stores/contract.js'
export { ID_KEPT_MS, KEPT_UNDER_TEST_CLOCK_MS, SLOTS_KEPT_MS } from './stores/contract.js'
export { spaceOf } from './stores/store-check.js'
export { EvictionReport } from './stores/memory/eviction-report.js'
export { LruMap } from './base/caches.js'
export { needClock, needOptions } from './base/options.js'
export type { MaybePromise } from './base/promises.js'
export { atCaller } from './base/errors.js'
export { ConfigError, StoreError, type StoreErrorReason } from './base/errors.js'
export {
  EARLIEST,
  NEVER,
  type Implementation,
  type Receipt,
  type Slots,
  type Usage,
} from './algorithms/implementation.js'
export {
  implementations,
  type Algorithm,
  type AlgorithmName,
  type AnyImplementation,
} from './algorithms/registry.js'
export type { LimitInput, LimitOptions } from './plans/limit/limit.js'
export type { CompiledLimit, LeaseTerms, LimitSet, Params, WaitTerms } from './plans/limit/limit-set.js'
export { limitSetFor, limitSetOf } from './plans/limit/limit-set-of.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.js'
export { isOutcome, isRefundAnswer } from './stores/outcome-check.js'
export { refundByKey, refundOf } from './stores/receipts.js'
export { checkStore, unsupportedBy } from './stores/store-check.js'
