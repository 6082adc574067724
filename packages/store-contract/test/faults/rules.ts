import type { RuleEntry, RuleList, RulesCall, RulesReply } from '@tollgate/core/store'
import type { Broken, Fault } from './fault.js'

type Call = RulesCall

/** Changes what the list is asked, and what it answers. */
function listed(
  ask: (call: Call) => RulesCall,
  tell: (reply: RulesReply, call: Call) => RulesReply = (reply) => reply,
): Broken {
  return (inner) => {
    const list = inner.rules as RuleList
    return { rules: { sync: (call) => tell(list.sync(ask(call)) as RulesReply, call) } }
  }
}

const told = (tell: (reply: RulesReply, call: Call) => RulesReply): Broken => listed((call) => call, tell)

const toldEntries = (change: (entry: RuleEntry) => RuleEntry): Broken =>
  told((reply) => ({ ...reply, entries: reply.entries.map(change) }))

const changed = (change: (one: RulesCall['changes'][number]) => object): Broken =>
  listed((call) => ({ ...call, changes: call.changes.map((one) => ({ ...one, ...change(one) })) }))

const restored = (change: (one: RulesCall['restored'][number], at: number) => object): Broken => {
  return (inner) => {
    const list = inner.rules as RuleList
    const at = (): number =>
      (list.sync({ known: { version: 0, id: '' }, changes: [], restored: [] }) as RulesReply).at
    return {
      rules: {
        sync: (call) =>
          list.sync({ ...call, restored: call.restored.map((one) => ({ ...one, ...change(one, at()) })) }),
      },
    }
  }
}

let ids = 0
const anotherId = (): { id: string } => {
  ids += 1
  return { id: `another-${ids}`.padStart(12, '_') }
}

/** As a list that deletes what is lifted. */
const deletesLifted: Broken = told((reply) => ({
  ...reply,
  entries: reply.entries.filter(({ text }) => text !== ''),
}))

/** Of changes at once, only one is written. */
const loses: Broken = (inner) => {
  let isBusy = false
  const list = inner.rules as RuleList
  return {
    synchronous: false,
    consume: async (batch) => inner.consume(batch),
    peek: async (batch) => inner.peek(batch),
    refund: async (batch) => inner.refund(batch),
    reset: async (keys, shard) => inner.reset(keys, shard),
    rules: {
      sync: async (call) => {
        if (isBusy)
          return {
            ...(await list.sync({ ...call, changes: [] })),
            results: call.changes.map(() => 'written'),
          }
        isBusy = true
        await new Promise((resolve) => setImmediate(resolve))
        isBusy = false
        return list.sync(call)
      },
    },
  }
}

export const faultsOfRules: readonly Fault[] = [
  [
    'a process reads what it knows',
    listed(
      (call) => ({ ...call, known: { version: 0, id: '' } }),
      (reply) => ({ ...reply, isWhole: false }),
    ),
    [/only once/],
  ],
  ['a change that comes again counts again', changed(anotherId), [/comes again counts once/]],
  [
    'a change has the time at which it comes',
    changed(() => ({ knownAt: 0 })),
    [/later than what it replaces/],
  ],
  [
    'rules end later than asked',
    toldEntries((entry) => ({ ...entry, until: entry.until + 1 })),
    [/ends when it was asked to/],
  ],
  ['lifted rules are forgotten', deletesLifted, [/stays as an entry/]],
  [
    'lifting is always possible',
    told((reply) => ({ ...reply, results: reply.results.map(() => 'written') })),
    [/lifted once/],
  ],
  [
    'a shorter rule is forgotten when it ends',
    toldEntries((entry) => ({ ...entry, keptUntil: entry.text === '' ? entry.keptUntil : entry.until })),
    [/shorter rule is kept/],
  ],
  [
    'what was lost is not lifted',
    changed(({ text }) => (text === '' ? { end: { at: 0 } } : {})),
    [/what it has lost is lifted/],
  ],
  ['what was lost is forgotten too early', changed(() => ({ keptUntil: 0 })), [/what it has lost is lifted/]],
  ['nothing comes back', listed((call) => ({ ...call, restored: [] })), [/a lost entry comes back/]],
  [
    'older entries come back',
    restored((_, at) => ({ changedAt: at + 1_000_000 })),
    [/an older one does not/],
  ],
  ['all versions are known', told((reply) => ({ ...reply, isWhole: false })), [/another version reads all/]],
  ['one answer is all', told((reply) => ({ ...reply, hasMore: false })), [/none is left out/]],
  ['changes at once are lost', loses, [/changes at once/]],
  [
    'texts end at a zero',
    toldEntries((entry) => ({ ...entry, text: entry.text.split('\0')[0] as string })),
    [/any characters/],
  ],
  [
    'nothing is forgotten',
    (inner) => {
      const list = inner.rules as RuleList
      const all = new Map<string, RuleEntry>()
      return {
        rules: {
          sync: (call) => {
            const reply = list.sync(call) as RulesReply
            for (const entry of reply.entries) all.set(entry.key, entry)
            const entries = reply.isWhole && !reply.hasMore ? [...all.values()] : reply.entries
            return { ...reply, entries }
          },
        },
      }
    },
    [/is forgotten once/],
  ],
]
