import * as adapter from '@tollgate/core/adapter'
import * as core from '@tollgate/core'
import * as face from '../src/index.js'

test('it exports rateLimit and what core has for users, and nothing that only adapters need', () => {
  expect(Object.keys(face).sort()).toEqual([...Object.keys(core), 'rateLimit'].sort())
  expect(Object.keys(adapter).filter((name) => name in face)).toEqual([])
})
