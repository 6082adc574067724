// The list of rules in Redis and its twin in memory give the same answers to any calls, lose nothing and revive nothing.
import { cases, Random } from '@tollgate/testing'
import { isRulesReply, MOST_RULES, type RuleChange, type RulesCall } from '../../../src/stores/rule-list.js'
import { closeBenches } from '../../support/benches.js'
import { ListPlay, Twins } from './list-play.js'

afterAll(closeBenches)

const NEW = { version: 0, id: '' }
const HOUR_US = 3_600_000_000
let ids = 0

function change(key: string, given: Partial<RuleChange> = {}): RuleChange {
  ids += 1
  const id = `${ids}`.padStart(12, 'x')
  return { id, key, text: '{"v":1}', end: { inUs: HOUR_US }, knownAt: 0, keptUntil: 0, ...given }
}

function lift(key: string, given: Partial<RuleChange> = {}): RuleChange {
  return change(key, { text: '', end: { at: 0 }, ...given })
}

const call = (given: Partial<RulesCall>): RulesCall => ({ known: NEW, changes: [], restored: [], ...given })

test('random schedules: the twins agree, nothing is lost, nothing older comes back', async () => {
  const met: Record<string, number> = {}
  const seeds = Array.from({ length: cases(60, 1000) }, (_, i) => i + 1)
  for (let from = 0; from < seeds.length; from += 20) {
    const plays = seeds.slice(from, from + 20).map(async (seed) => {
      const play = new ListPlay(new Random(seed))
      await play.play(60).catch((error: unknown) => {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
      })
      for (const [what, count] of Object.entries(play.met)) met[what] = (met[what] ?? 0) + count
    })
    // All must be over before the connection closes.
    await Promise.allSettled(plays)
    await Promise.all(plays)
  }
  for (const what of ['lifts', 'restored', 'repeats', 'losses', 'rollbacks']) {
    expect([what, (met[what] ?? 0) > 20]).toEqual([what, true])
  }
}, 300_000)

test('a change that is sent again counts once, also when another one followed', async () => {
  const twins = new Twins()
  const [first, second] = [change('^ba', { text: 'first' }), change('^ba', { text: 'second' })]
  await twins.sync(call({ changes: [first, second] }))
  const { results, entries } = await twins.sync(call({ changes: [first] }))
  expect(results).toEqual(['written'])
  expect(entries).toMatchObject([{ key: '^ba', text: 'second' }])
})

test('a rule is lifted that the list has lost, and a stale process does not revive it', async () => {
  const twins = new Twins()
  const { entries, known } = await twins.sync(call({ changes: [change('^ba')] }))
  const [entry] = entries as [(typeof entries)[0]]
  await twins.lose()
  const seen = { knownAt: entry.changedAt, keptUntil: entry.keptUntil, end: { at: entry.until } }
  expect((await twins.sync(call({ known, changes: [lift('^ba', seen)] }))).results).toEqual(['written'])
  const { entries: after } = await twins.sync(call({ known, restored: [{ ...entry, id: 'r'.repeat(12) }] }))
  expect(after).toMatchObject([{ key: '^ba', text: '', keptUntil: entry.keptUntil }])
  expect((await twins.sync(call({ changes: [lift('^ba')] }))).results).toEqual(['absent'])
})

test('a shorter rule in place of a longer one that the list has lost is kept as long', async () => {
  const twins = new Twins()
  const { entries, known } = await twins.sync(call({ changes: [change('^ba')] }))
  const [entry] = entries as [(typeof entries)[0]]
  await twins.lose()
  const seen = { knownAt: entry.changedAt, keptUntil: entry.keptUntil }
  await twins.sync(call({ known, changes: [change('^ba', { ...seen, end: { inUs: 1000 }, text: 'short' })] }))
  twins.clock.us += 2000
  const restored = [{ ...entry, id: 'r'.repeat(12) }]
  expect((await twins.sync(call({ known, restored }))).entries).toMatchObject([{ text: 'short' }])
})

test('of 10 000 rules all are read, the next is refused, and a known one can still be changed', async () => {
  const twins = new Twins()
  for (let from = 0; from < MOST_RULES; from += 1000) {
    const changes = Array.from({ length: 1000 }, (_, i) => change(`^b${from + i}`))
    await twins.sync(call({ changes, known: NEW }))
  }
  const { results } = await twins.sync(
    call({ changes: [change('^bmore'), change('^b7', { text: 'other' })] }),
  )
  expect(results).toEqual(['full', 'written'])
  const keys = new Set<string>()
  let reply = await twins.sync(call({}))
  const first = reply.known
  for (; ; reply = await twins.sync(call({ known: reply.known }))) {
    for (const { key } of reply.entries) keys.add(key)
    if (!reply.hasMore) break
  }
  expect(keys.size).toBe(MOST_RULES)
  // A version is known by its entry, long after its id is among the latest no more.
  expect(await twins.sync(call({ known: first }))).toMatchObject({ isWhole: false })
  // All end at the same time: not all are forgotten at once, but there is room again.
  twins.clock.us += HOUR_US
  expect((await twins.sync(call({ changes: [change('^bmore')] }))).results).toEqual(['written'])
  for (let i = 0; i < 10; i += 1) await twins.sync(call({ changes: [lift('^bnone')] }))
  expect([...twins.entries().keys()]).toEqual(['^bmore'])
}, 120_000)

test('a process that stopped long ago reads all of it again once its version is not known', async () => {
  const twins = new Twins()
  const { known } = await twins.sync(call({ changes: [change('^ba')] }))
  for (let i = 0; i < 11; i += 1) {
    await twins.sync(call({ changes: Array.from({ length: 100 }, () => change('^ba')) }))
  }
  expect(await twins.sync(call({ known }))).toMatchObject({ isWhole: true, entries: [{ key: '^ba' }] })
})

test('an empty list begins again with version 0', async () => {
  const twins = new Twins()
  const { known } = await twins.sync(call({ changes: [change('^ba')] }))
  twins.clock.us += HOUR_US
  expect(await twins.sync(call({ known }))).toMatchObject({ isWhole: false, entries: [] })
  const reply = await twins.sync(call({ known, changes: [lift('^ba')] }))
  expect(reply).toMatchObject({ results: ['absent'], isWhole: true, known: NEW, entries: [] })
})

test('texts and keys can have any characters', async () => {
  const twins = new Twins()
  const text = 'a\n\r\0"\\ %s %d é \u{1F600} '
  const { entries } = await twins.sync(call({ changes: [change(`^b${text}`, { text })] }))
  expect(entries).toMatchObject([{ key: `^b${text}`, text }])
})

test('an answer in another form is not taken', async () => {
  const asked = call({ changes: [change('^ba')] })
  const reply = await new Twins().sync(asked)
  expect(isRulesReply(reply, asked)).toBe(true)
  const wrong: unknown[] = [
    ...[
      undefined,
      null,
      7,
      'OK',
      [],
      {},
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no')
          },
        },
      ),
    ],
    ...[
      { ...reply, results: [] },
      { ...reply, results: ['done'] },
      { ...reply, at: NaN },
    ],
    ...[
      { ...reply, entries: [{}] },
      { ...reply, entries: [{ ...reply.entries[0], text: 7 }] },
    ],
    ...[
      { ...reply, known: undefined },
      { ...reply, known: { version: -1, id: '' } },
    ],
    { ...reply, hasMore: true, entries: [], known: NEW },
  ]
  expect(wrong.map((given) => isRulesReply(given, asked))).toEqual(wrong.map(() => false))
})
