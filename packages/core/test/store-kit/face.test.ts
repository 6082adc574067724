import * as kit from '../../src/store.js'

test('what @tollgate/core/store exports, and nothing by accident', () => {
  expect(Object.keys(kit).sort()).toEqual([
    'ConfigError',
    'ID_KEPT_MS',
    'NEVER',
    'StoreError',
    'checkStore',
    'implementations',
    'isOutcome',
    'isRefundAnswer',
    'limitSetOf',
    'memoryStore',
    'refundOf',
    'storeContract',
    'unsupportedBy',
  ])
})
