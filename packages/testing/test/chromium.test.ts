import { findChromium, NO_CHROMIUM } from '../src/browser/binary.ts'

const install = (): never => {
  throw new Error('nothing may be installed')
}

test('without Chromium and without the right to install it, the error says what to do', () => {
  const machine = { path: '', isRoot: false, hasApt: true, install }
  expect(() => findChromium(machine)).toThrow(NO_CHROMIUM)
  expect(() => findChromium({ ...machine, isRoot: true, hasApt: false })).toThrow(NO_CHROMIUM)
})
