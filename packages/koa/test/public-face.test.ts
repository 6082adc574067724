import * as adapter from '@tollgate/core/adapter'
import * as core from '@tollgate/core'
import * as face from '../src/index.js'

test('it exports rateLimit and everything that core has for users, but nothing that only adapters need', () => {
  expect(Object.keys(face).sort()).toEqual([...Object.keys(core), 'rateLimit', 'usage'].sort())
  expect(Object.keys(adapter).filter((name) => name in face)).toEqual([])
})
