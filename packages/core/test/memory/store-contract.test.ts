// The public kit holds the memory store to the contract.
import { storeContract } from '../../src/stores/kit/store-contract.js'
import { memoryStore } from '../../src/stores/memory/memory-store.js'

for (const { name, check } of storeContract(() => memoryStore())) test(name, check)
