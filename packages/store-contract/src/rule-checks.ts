import assert from 'node:assert/strict'
import type { RuleChange, RuleEntry, RuleList, RulesCall, RulesReply } from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { same } from './same.js'

const NOTHING = { version: 0, id: '' }
const MINUTE_US = 60_000_000
const MINUTE_MS = 60_000
/** More than a full list has. */
const MOST_PAGES = 100

let ids = 0

function newId(): string {
  ids += 1
  return `${process.pid.toString(36)}_${ids.toString(36)}`
    .padStart(12, Math.random().toString(36).slice(2))
    .slice(-12)
}

/** The list of a store under test. Other checks may write to it at the same time, so each has its own keys. */
class List {
  readonly #list: RuleList
  readonly #begin: string

  constructor(bench: Bench) {
    this.#list = bench.store.rules as RuleList
    this.#begin = bench.key('^b')
  }

  keyOf(name: string): string {
    return this.#begin + name
  }

  async sync(call: Partial<RulesCall>): Promise<RulesReply> {
    const reply = await this.#list.sync({ known: NOTHING, changes: [], restored: [], ...call })
    const { at, results, isWhole, entries, known, hasMore } = reply
    const kinds = [at, results.length, isWhole, entries.length, known.version, known.id, hasMore].map(
      (one) => typeof one,
    )
    same(
      kinds,
      ['number', 'number', 'boolean', 'number', 'number', 'string', 'boolean'],
      'the kinds of an answer',
    )
    return reply
  }

  change(name: string, given: Partial<RuleChange> = {}): RuleChange {
    const key = this.keyOf(name)
    return { id: newId(), key, text: 'a', end: { inUs: MINUTE_US }, knownAt: 0, keptUntil: 0, ...given }
  }

  lift(name: string, given: Partial<RuleChange> = {}): RuleChange {
    return this.change(name, { text: '', end: { at: 0 }, ...given })
  }

  async write(...changes: readonly RuleChange[]): Promise<RulesReply> {
    const reply = await this.sync({ changes })
    same(
      reply.results,
      changes.map(() => 'written'),
      'results of changes',
    )
    return reply
  }

  /** All entries of this check, read anew. */
  async all(): Promise<Map<string, RuleEntry>> {
    const entries = await this.rest(await this.sync({}))
    return new Map(entries.map((entry) => [entry.key.slice(this.#begin.length), entry]))
  }

  /** The entries of this check in an answer and in those that go on from there. */
  async rest(first: RulesReply): Promise<RuleEntry[]> {
    const found: RuleEntry[] = []
    let reply = first
    for (let pages = 1; ; pages += 1) {
      found.push(...reply.entries.filter(({ key }) => key.startsWith(this.#begin)))
      if (!reply.hasMore) return found
      assert.ok(pages < MOST_PAGES, 'the entries come to an end')
      reply = await this.sync({ known: reply.known })
    }
  }

  async entry(name: string): Promise<RuleEntry> {
    const entry = (await this.all()).get(name)
    assert.ok(entry, 'an entry that was written is in the list')
    return entry
  }

  async texts(...names: readonly string[]): Promise<(string | undefined)[]> {
    const all = await this.all()
    return names.map((name) => all.get(name)?.text)
  }
}

const check = (name: string, run: (list: List, bench: Bench) => Promise<void>): Check => ({
  name: `rules: ${name}`,
  run: (bench) => run(new List(bench), bench),
})

/** The list of rules. */
export const ruleChecks: readonly Check[] = [
  check('a change is read by others, and only once', async (list) => {
    const { known } = await list.write(list.change('a', { text: 'first' }))
    same(await list.texts('a'), ['first'], 'texts')
    const reply = await list.sync({ known, changes: [list.change('b', { text: 'second' })] })
    same(reply.isWhole, false, 'whether the entries begin anew for a version that was given')
    const texts = (await list.rest(reply)).map(({ text }) => text)
    same(texts, ['second'], 'entries after the known version')
  }),
  check('a change that comes again counts once', async (list) => {
    const first = list.change('a', { text: 'first' })
    await list.write(first)
    await list.write(list.change('a', { text: 'second' }))
    await list.write(first)
    same(await list.texts('a'), ['second'], 'texts after a repeated change')
  }),
  check('a change is later than what it replaces, and than what its sender knew', async (list) => {
    const { at } = await list.sync({})
    const knownAt = at + MINUTE_US
    await list.write(list.change('a', { knownAt }), list.change('b'), list.change('b'))
    const first = await list.entry('a')
    assert.ok(first.changedAt > knownAt, 'a change is later than its sender knew')
    await list.write(list.change('a', { text: 'second' }))
    assert.ok((await list.entry('a')).changedAt > first.changedAt, 'a later change has a later time')
  }),
  check('a rule ends when it was asked to, and one that has ended is refused', async (list) => {
    const { at } = await list.sync({})
    const end = at + 2 * MINUTE_US
    await list.write(list.change('at', { end: { at: end } }), list.change('in', { end: { inUs: MINUTE_US } }))
    same((await list.entry('at')).until, end, 'the end of a rule')
    const { until } = await list.entry('in')
    assert.ok(until >= at + MINUTE_US && until < end, 'a rule for a minute ends a minute later')
    const { results } = await list.sync({ changes: [list.change('past', { end: { at: at - 1 } })] })
    same(results, ['past'], 'results of a rule that has ended')
    same(await list.texts('past'), [undefined], 'texts of it')
  }),
  check('a lifted rule stays as an entry, and is lifted once', async (list) => {
    await list.write(list.change('a'))
    const { keptUntil } = await list.entry('a')
    await list.write(list.lift('a'))
    const lifted = await list.entry('a')
    same([lifted.text, lifted.keptUntil], ['', keptUntil], 'text and keptUntil of a lifted rule')
    const { results } = await list.sync({ changes: [list.lift('a'), list.lift('never')] })
    same(results, ['absent', 'absent'], 'results of lifting what is not there')
  }),
  check('a shorter rule is kept as long as the one that it replaces', async (list) => {
    await list.write(list.change('a'))
    const { keptUntil } = await list.entry('a')
    await list.write(list.change('a', { end: { inUs: 1_000_000 } }))
    same((await list.entry('a')).keptUntil, keptUntil, 'keptUntil')
  }),
  check('what it has lost is lifted and replaced all the same', async (list) => {
    const { at } = await list.sync({})
    const [knownAt, keptUntil] = [at - 1, at + MINUTE_US]
    const { results } = await list.sync({
      changes: [
        list.lift('a', { knownAt, keptUntil, end: { at: keptUntil } }),
        list.change('b', { knownAt, keptUntil, end: { inUs: 1_000_000 } }),
      ],
    })
    same(results, ['written', 'written'], 'results of changes whose senders know more')
    const [lifted, replaced] = [await list.entry('a'), await list.entry('b')]
    same(
      [lifted.text, lifted.keptUntil, replaced.keptUntil],
      ['', keptUntil, keptUntil],
      'what is kept, and until when',
    )
  }),
  check('a lost entry comes back, an older one does not', async (list) => {
    const { at } = await list.sync({})
    const times = { until: at + MINUTE_US, keptUntil: at + MINUTE_US }
    await list.write(list.change('b', { text: 'later' }))
    const older = (await list.entry('b')).changedAt - 1
    await list.sync({
      restored: [
        { id: newId(), key: list.keyOf('a'), changedAt: at, ...times, text: 'lost' },
        { id: newId(), key: list.keyOf('b'), changedAt: older, ...times, text: 'older' },
        { id: newId(), key: list.keyOf('c'), changedAt: at, until: at - 1, keptUntil: at - 1, text: 'over' },
      ],
    })
    same(await list.texts('a', 'b', 'c'), ['lost', 'later', undefined], 'texts after entries came back')
    same((await list.entry('a')).changedAt, at, 'the time of a change that came back')
  }),
  check('a process that knows another version reads all', async (list) => {
    const { known } = await list.write(list.change('a'))
    const { isWhole } = await list.sync({ known: { version: known.version, id: newId() } })
    same(isWhole, true, 'whether the entries begin anew for an unknown version')
    const later = await list.sync({ known: { version: known.version + 1_000_000, id: known.id } })
    same(later.isWhole, true, 'whether they do for a version to come')
  }),
  check('many entries come in several answers, and none is left out', async (list) => {
    const names = Array.from({ length: 2100 }, (_, i) => `${i}`)
    for (let from = 0; from < names.length; from += 300) {
      await list.write(...names.slice(from, from + 300).map((name) => list.change(name)))
    }
    await list.write(list.change('0', { text: 'again' }))
    const all = await list.all()
    same(
      names.filter((name) => !all.has(name)),
      [],
      'entries that were left out',
    )
    same(all.get('0')?.text, 'again', 'the text of one that was changed last')
    const { entries, hasMore } = await list.sync({})
    assert.ok(hasMore && entries.length < names.length, 'no answer has more than 1000 entries')
  }),
  check('changes at once are all written', async (list) => {
    const names = Array.from({ length: 40 }, (_, i) => `${i}`)
    await Promise.all(names.map((name) => list.write(list.change(name))))
    const all = await list.all()
    same(
      names.filter((name) => !all.has(name)),
      [],
      'entries that are missing',
    )
  }),
  check('keys and texts have any characters', async (list) => {
    const text = `\0\n\r"'\\ %s é \u{1F600} ${'x'.repeat(8000)}`
    await list.write(list.change(text.slice(0, 200), { text }))
    same(await list.texts(text.slice(0, 200)), [text], 'texts')
  }),
]

/** For stores whose clock the test can set. */
export const ruleTimeChecks: readonly Check[] = [
  check('an entry is forgotten once no earlier rule of its key would hold', async (list, bench) => {
    await list.write(list.change('long', { end: { inUs: 20 * MINUTE_US } }), list.change('short'))
    await list.write(list.lift('long'))
    bench.pass(2 * MINUTE_MS)
    await list.write(list.change('other', { end: { inUs: 40 * MINUTE_US } }))
    same(await list.texts('long', 'short', 'other'), ['', undefined, 'a'], 'texts after two minutes')
    bench.pass(20 * MINUTE_MS)
    await list.write(list.change('other'))
    same(await list.texts('long', 'other'), [undefined, 'a'], 'texts after twenty more')
  }),
]
