/**
 * For authors of stores: the contract, and the algorithms to decide with. Test a store with @tollgate/store-contract.
 * docs/guides/writing-a-store.md begins with the shortest store that works. docs/reference/store-contract.md has the whole contract.
 */
export {
  type AccountEntry,
  type AccountRequest,
  type Answer,
  type BlockOutcome,
  type Booked,
  type Call,
  type ChargeRequest,
  type ChargedPart,
  type ConsumeRequest,
  type CountedWindow,
  type DenialTally,
  type Grant,
  type Hold,
  type HoldOutcome,
  ID_KEPT_MS,
  KEPT_UNDER_TEST_CLOCK_MS,
  type LeaseOrder,
  type LeaseOutcome,
  type LeaseReport,
  type LeaseRequest,
  type LeaseWish,
  type LimitOutcome,
  type LimitUsage,
  type Outcome,
  type RefundAnswer,
  type RefundPart,
  type RefundRequest,
  SLOTS_KEPT_MS,
  type SlotHolder,
  type SlotsRequest,
  type Store,
  type StoreAbilities,
  type StoreListener,
  type StoreRequest,
  type SubRequest,
  type UnblockRequest,
  type UnchargedRequest,
  type UpToRequest,
} from './stores/contract.js'
export {
  type ChangeResult,
  INSTANCE_KEPT_MS,
  type Instance,
  type ListVersion,
  MOST_ENTRIES_A_REPLY,
  MOST_RULES,
  type RuleChange,
  type RuleEntry,
  type RuleList,
  type RulesCall,
  type RulesReply,
  VERSIONS_KNOWN,
} from './stores/rule-list.js'
export type { Board, Note, NotesSince, NoteTerms } from './stores/board.js'
export { checkStore, spaceOf, unsupportedBy } from './stores/store-check.js'
export { needClock } from './base/options.js'
export type { MaybePromise } from './base/promises.js'
export { ConfigError, StoreError, atCaller } from './base/errors.js'
export { warn, type Warn, type WarningCode } from './base/warnings.js'
export {
  EARLIEST,
  NEVER,
  type Implementation,
  type Receipt,
  type Usage,
} from './algorithms/implementation.js'
export {
  implementations,
  type Algorithm,
  type AlgorithmName,
  type AnyImplementation,
} from './algorithms/registry.js'
export { billedSet, type BillingDay } from './plans/billed-set.js'
export { createLimitSetFor, createLimitSet, type LimitInput, type LimitOptions } from './plans/limit/limit.js'
export type {
  BlockTerms,
  CompiledLimit,
  LeaseTerms,
  LimitSet,
  Params,
  WaitTerms,
} from './plans/limit/limit-set.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.js'
export { isOutcome, isRefundAnswer } from './stores/outcome-check.js'
export { refundByKey, refundOf } from './stores/receipts.js'
