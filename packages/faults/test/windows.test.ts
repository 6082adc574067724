import { mostInAnyWindow, type Admission } from '../src/windows.ts'

const at = (...times: number[]): Admission[] => times.map((time) => ({ from: time, to: time }))

test.each<[what: string, admissions: Admission[], most: number]>([
  ['nothing', [], 0],
  ['one', at(7), 1],
  ['all within one window', at(0, 10, 50), 3],
  ['a window begins anywhere', at(0, 110, 120, 130, 300), 3],
  ['one window after the other', at(0, 100, 200), 1],
  ['in any order', at(80, 0, 60, 70), 4],
  ['one that may have been outside counts outside', [...at(0, 50), { from: 40, to: 120 }], 2],
  [
    'one that began before is not in a window that begins later',
    [{ from: 0, to: 60 }, ...at(50, 60, 140)],
    3,
  ],
])('%s', (_, admissions, most) => {
  expect(mostInAnyWindow(admissions, 100)).toBe(most)
})
