import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  judge,
  neverFull,
  type Disturbance,
  type Killed,
  type Seen,
  type Verdict,
} from '../src/in-flight/judge.ts'
import { judgeUses, type Use } from '../src/in-flight/metered.ts'
import { Notes, readNotes, type Run } from '../src/in-flight/record.ts'
import { PLACES, PLANS } from '../src/in-flight/subjects.ts'

const S = 1_000_000
const place = { id: 'acme', plan: 'five', slots: 2, isFull: true } as const
const run = (from: number, to: number, by = 0): Run => ({
  place: 0,
  by,
  from: from * S,
  to: to * S,
  isOfStore: true,
})

function verdict(runs: readonly Run[], more: Partial<Seen> = {}): Verdict {
  return judge({
    places: [place],
    runs,
    processes: 4,
    disturbances: [],
    killed: [],
    withinUs: 15 * S,
    ...more,
  })
}
const wrongs = (runs: readonly Run[], more: Partial<Seen> = {}): number =>
  verdict(runs, more).violations.length

describe('in quiet times', () => {
  test('no more may run than there are slots, over all processes', () => {
    expect(wrongs([run(0, 10), run(1, 9, 1), run(9, 12, 2)])).toBe(0)
    expect(wrongs([run(0, 10), run(1, 9, 1), run(8, 12, 2)])).toBe(1)
    expect(verdict([run(0, 10), run(1, 9, 1), run(8, 12, 2)]).most).toBe(1.5)
  })

  test('a run that never ended runs on', () => {
    expect(wrongs([run(0, Infinity), run(1, 2), run(5, 6)])).toBe(0)
    expect(wrongs([run(0, Infinity), run(1, 9), run(5, 6)])).toBe(1)
  })

  test('subjects do not count for each other', () => {
    const other = { ...place, id: 'other' }
    const runs = [run(0, 10), run(0, 10), { ...run(0, 10), place: 1 }]
    expect(wrongs(runs, { places: [place, other] })).toBe(0)
  })
})

describe('a disturbance', () => {
  const loss: Disturbance = { from: 5 * S, to: 6 * S, more: 1, share: 0 }
  const held = [run(0, 60), run(0, 60)]
  const again = [run(7, 50, 1), run(7, 50, 1)]

  test('lets the slots be used once more, and no more than that', () => {
    expect(wrongs([...held, ...again], { disturbances: [loss] })).toBe(0)
    expect(wrongs([...held, ...again, run(8, 9)], { disturbances: [loss] })).toBe(1)
    expect(wrongs([...held, run(4, 50, 1)], { disturbances: [loss] })).toBe(1)
  })

  test('is over after a while: what runs may go on, but nothing may begin until a slot is free', () => {
    const late = 6 + 15 + 1
    expect(wrongs([...held, ...again, run(late, late + 1)], { disturbances: [loss] })).toBe(1)
    expect(wrongs([...held, ...again, run(60, 61)], { disturbances: [loss] })).toBe(0)
  })

  test('in which processes decide by themselves gives each its share, at least one slot', () => {
    const own: Disturbance = { from: 5 * S, to: 6 * S, more: 0, share: 0.25 }
    const each = [0, 1, 2, 3].map((by) => run(5.5, 9, by))
    expect(wrongs([...held, ...each], { disturbances: [own] })).toBe(0)
    expect(wrongs([...held, ...each, run(5.6, 9)], { disturbances: [own] })).toBe(1)
  })

  test('tells when the last one began that was too many', () => {
    expect(verdict([...held, ...again], { disturbances: [loss] }).settled).toBe(1 * S)
    expect(verdict(held, { disturbances: [loss] }).settled).toBe(0)
  })
})

describe('a kill', () => {
  const killed: readonly Killed[] = [{ at: 10 * S, by: [0] }]

  test('ends the runs of the dead, whose slots are used again within the time', () => {
    const runs = [run(0, Infinity), run(0, 40, 1), run(21, 30, 2)]
    expect(verdict(runs, { killed })).toMatchObject({ back: 11 * S, violations: [], most: 1 })
  })

  test('is wrong when they are not, or too late', () => {
    expect(wrongs([run(0, Infinity), run(0, 40, 1)], { killed })).toBe(1)
    expect(wrongs([run(0, Infinity), run(0, 40, 1), run(25.1, 30, 2)], { killed })).toBe(1)
  })

  test('says nothing of a subject of which the dead held no slot, or which is not always asked for', () => {
    expect(verdict([run(0, 5), run(0, 40, 1)], { killed })).toMatchObject({ back: undefined, violations: [] })
    const rare = { ...place, isFull: false }
    expect(wrongs([run(0, Infinity)], { killed, places: [rare] })).toBe(0)
  })
})

describe('of lines and reservations', () => {
  const burst = (meter: number, units: number, at: number): Use => ({
    meter,
    units,
    from: at * S,
    to: at * S,
  })
  const loss: Disturbance = { from: 1 * S, to: 2 * S, more: 1, share: 0 }

  test('no more may be used than drains, and in a line what its slack adds', () => {
    expect(judgeUses([burst(1, 500, 0), burst(1, 500, 1)], [])).toEqual([])
    expect(judgeUses([burst(1, 500, 0), burst(1, 502, 1)], [])).not.toEqual([])
    expect(judgeUses([burst(0, 30, 0), burst(0, 30, 0.3)], [])).toEqual([])
    expect(judgeUses([burst(0, 32, 0)], [])).not.toEqual([])
  })

  test('a loss of the store lets as many more be used as there are, and as were held', () => {
    expect(judgeUses([burst(1, 500, 0.5), burst(1, 500, 1.5)], [])).toEqual([])
    expect(judgeUses([burst(1, 500, 0.9), burst(1, 900, 2)], [])).not.toEqual([])
    expect(judgeUses([burst(1, 500, 0.9), burst(1, 900, 2)], [loss])).toEqual([])
  })
})

test('slots that are never all in use, though more is asked for, are lost', () => {
  const places = [place]
  expect(neverFull({ places, runs: [run(0, 5), run(4, 9)] })).toEqual([])
  expect(neverFull({ places, runs: [run(0, 5), run(5, 9)] })).toEqual(['acme: no more than 1 of 2 ever ran'])
  expect(neverFull({ places: [{ ...place, isFull: false }], runs: [] })).toEqual([])
})

test('notes are read as they were written, also by a process that was killed in the middle', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-notes-'))
  const notes = new Notes(join(folder, 'notes'))
  const first = notes.begin(3, true, 1.5)
  notes.begin(4, false, 2.5)
  notes.end(first, 3, 9.5)
  notes.use({ meter: 1, units: 40, from: 3.5, to: 4.5 })
  expect(readNotes(join(folder, 'notes'), 7)).toEqual({
    runs: [
      { place: 3, by: 7, from: 1.5, to: 9.5, isOfStore: true },
      { place: 4, by: 7, from: 2.5, to: Infinity, isOfStore: false },
    ],
    uses: [{ meter: 1, units: 40, from: 3.5, to: 4.5 }],
  })
  notes.close()
  rmSync(folder, { recursive: true })
})

test('every subject has as many slots as its plan says', () => {
  for (const { plan, slots } of PLACES) expect(JSON.stringify(PLANS[plan])).toContain(`"${slots} concurrent"`)
})
