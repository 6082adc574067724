import { ruleKey, toText } from '../../../src/features/rules/rule.js'
import { RuleIndex } from '../../../src/features/rules/rule-index.js'
import type { RuleEntry } from '../../../src/stores/rule-list.js'

function entryOf(what: string): RuleEntry {
  const text = toText({ kind: 'block', of: what })
  return { key: ruleKey('block', what), changedAt: 1, until: 9, keptUntil: 9, text }
}

const isBlocked = (index: RuleIndex, id: string): boolean => index.find({ id }, () => 1)?.block !== undefined

test('beginnings of ids of one length and of others come and go', () => {
  const index = new RuleIndex(undefined)
  const set = (what: string, isThere: boolean): void =>
    void index.set(ruleKey('block', what), isThere ? entryOf(what) : undefined)
  for (const what of ['ab*', 'cd*', 'abc*', 'ab*']) set(what, true)
  expect(['ab', 'abd', 'cdx', 'a', 'xab'].map((id) => isBlocked(index, id))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
  set('ab*', false)
  set('ab*', false)
  expect(['abd', 'abcd', 'cdx'].map((id) => isBlocked(index, id))).toEqual([false, true, true])
  set('cd*', false)
  set('abc*', false)
  expect([isBlocked(index, 'cdx'), isBlocked(index, 'abcd'), index.isEmpty]).toEqual([false, false, true])
})

test('the work for another beginning does not grow with their number', () => {
  const BEGINNINGS = 2000
  const index = new RuleIndex(undefined)
  const { keys } = Map.prototype
  let visited = 0
  const spy = jest.spyOn(Map.prototype, 'keys').mockImplementation(function counting(
    this: Map<unknown, unknown>,
  ) {
    visited += this.size
    return keys.call(this)
  })
  for (let i = 0; i < BEGINNINGS; i += 1) index.set(ruleKey('block', `u${i}-*`), entryOf(`u${i}-*`))
  spy.mockRestore()
  // One for each length, of which there are four. With a look at all others for each it would be two million.
  expect(visited).toBeLessThanOrEqual(4 * BEGINNINGS)
  expect([isBlocked(index, 'u1999-x'), isBlocked(index, 'u2000-x')]).toEqual([true, false])
})
