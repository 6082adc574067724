// Plays schedules on the list of rules in memory and in Redis, and compares all answers.
import { isDeepStrictEqual } from 'node:util'
import { testPrefix, type Random } from '@tollgate/testing'
import { ListCopy } from '../../../src/features/rules/list-copy.js'
import { redisStore } from '../../../src/index.js'
import { MemoryRules } from '../../../src/stores/memory/memory-rules.js'
import type { RuleChange, RuleEntry, RuleList, RulesCall, RulesReply } from '../../../src/stores/rule-list.js'
import { sharedRedis, START_MS } from '../../support/benches.js'

const NAMES = ['!rules', '!rules.version', '!rules.end', '!rules.id']

/** The list in Redis and its twin in memory, with one clock. */
export class Twins {
  readonly clock = { us: START_MS * 1000 }
  readonly #prefix = testPrefix()
  readonly #redis: RuleList
  #memory = this.#newMemory()
  /** All calls since the list began, with their times: so the twin in memory can go back, too. */
  #calls: { readonly call: RulesCall; readonly us: number }[] = []
  #saved: { readonly calls: number; readonly values: readonly (Buffer | null)[] } | undefined

  constructor() {
    const store = redisStore(sharedRedis(), { prefix: this.#prefix, now: () => this.clock.us / 1000 })
    this.#redis = store.rules as RuleList
  }

  #newMemory(): MemoryRules {
    return new MemoryRules(() => this.clock.us)
  }

  get #keys(): string[] {
    return NAMES.map((name) => `${this.#prefix}/${name}`)
  }

  async sync(call: RulesCall): Promise<RulesReply> {
    const [given, wanted] = [await this.#redis.sync(call), this.#memory.sync(call)]
    this.#calls.push({ call, us: this.clock.us })
    if (isDeepStrictEqual(given, wanted)) return given
    throw new Error(
      `they part: ${JSON.stringify(given)} and ${JSON.stringify(wanted)} of ${JSON.stringify(call)}`,
    )
  }

  /** All entries of the list. */
  entries(): Map<string, RuleEntry> {
    const read = (known: RulesCall['known']): RuleEntry[] => {
      const reply = this.#memory.sync({ known, changes: [], restored: [] })
      return [...reply.entries, ...(reply.hasMore ? read(reply.known) : [])]
    }
    return new Map(read({ version: 0, id: '' }).map((entry) => [entry.key, entry]))
  }

  /** As FLUSHALL does; with `only`, one of the keys is evicted. */
  async lose(only?: number): Promise<void> {
    const keys = only === undefined ? this.#keys : [this.#keys[only] as string]
    const deleted = await sharedRedis().del(...keys)
    if (deleted === 0) return
    this.#memory = this.#newMemory()
    this.#calls = []
    this.#saved = undefined
  }

  async save(): Promise<void> {
    const values = await Promise.all(this.#keys.map((key) => sharedRedis().dumpBuffer(key)))
    this.#saved = { calls: this.#calls.length, values: values as (Buffer | null)[] }
  }

  /** As a failover to an older copy does. */
  async rollBack(): Promise<void> {
    if (!this.#saved) return
    const { calls, values } = this.#saved
    await sharedRedis().del(...this.#keys)
    await Promise.all(
      values.map((value, i) => value && sharedRedis().restore(this.#keys[i] as string, 0, value)),
    )
    const { us } = this.clock
    this.#memory = this.#newMemory()
    this.#calls = this.#calls.slice(0, calls)
    for (const before of this.#calls) {
      this.clock.us = before.us
      this.#memory.sync(before.call)
    }
    this.clock.us = us
  }
}

/** A process with its copy of the list, as housekeeping has it. */
class Process {
  copy = new ListCopy()
  /** Changes whose replies were lost. */
  unanswered: RuleChange[] = []
}

const KEYS = ['^ba', '^bb', '^sfree']
const SPANS_US = [1_000_000, 60_000_000, 3_600_000_000]

/** A random schedule of several processes on one list. Checks after each step that nothing is lost and nothing is revived. */
export class ListPlay {
  readonly twins = new Twins()
  readonly #random: Random
  readonly #processes = [new Process(), new Process(), new Process()]
  /** The latest entries whose writers know that they are written. */
  readonly #confirmed = new Map<string, RuleEntry>()
  #latestUs = this.twins.clock.us
  #ids = 0
  /** How often something happened that the schedules are about. */
  readonly met = { lifts: 0, restored: 0, repeats: 0, losses: 0, rollbacks: 0 }

  constructor(random: Random) {
    this.#random = random
  }

  async play(steps: number): Promise<void> {
    for (let i = 0; i < steps; i += 1) {
      const isLoss = await this.#step()
      this.#check(isLoss)
    }
    await this.#settle()
  }

  /** @returns whether entries may be gone that nobody knows */
  async #step(): Promise<boolean> {
    const random = this.#random
    const one = random.pick(this.#processes)
    const kind = random.int(0, 99)
    if (kind < 55) await this.#call(one, this.#changes(one), random.chance(0.15))
    else if (kind < 75) await this.#call(one, [], false)
    else if (kind < 87) this.#pass()
    else return this.#fault()
    return false
  }

  async #fault(): Promise<boolean> {
    const random = this.#random
    switch (random.int(0, 4)) {
      case 0:
        await this.twins.lose()
        this.met.losses += 1
        break
      case 1:
        await this.twins.lose(random.int(0, 3))
        this.met.losses += 1
        break
      case 2:
        await this.twins.save()
        break
      case 3:
        await this.twins.rollBack()
        this.met.rollbacks += 1
        break
      default:
        this.#processes[random.int(0, 2)] = new Process()
    }
    return true
  }

  #pass(): void {
    const { clock } = this.twins
    const us = this.#random.pick([1, 400_000, 59_000_000, 61_000_000, 3_500_000_000])
    clock.us += this.#random.chance(0.3) ? -us : us
    this.#latestUs = Math.max(this.#latestUs, clock.us)
  }

  #changes(one: Process): RuleChange[] {
    const count = this.#random.pick([1, 1, 1, 2, 3])
    return Array.from({ length: count }, () => this.#change(one))
  }

  #change({ copy }: Process): RuleChange {
    const random = this.#random
    const key = random.pick(KEYS)
    const known = copy.get(key)
    this.#ids += 1
    const id = `${this.#ids}`.padStart(12, 'i')
    const seen = { knownAt: known?.changedAt ?? 0, keptUntil: known?.keptUntil ?? 0 }
    if (random.chance(0.4)) {
      const end = { at: known && known.text !== '' ? known.until : 0 }
      return { id, key, text: '', end, ...seen }
    }
    const inUs = random.pick(SPANS_US)
    const end = random.chance(0.5) ? { inUs } : { at: this.twins.clock.us + inUs }
    return { id, key, text: `{"v":1,"n":${this.#ids}}`, end, ...seen }
  }

  async #call(one: Process, made: readonly RuleChange[], isReplyLost: boolean): Promise<void> {
    const changes = [...one.unanswered, ...made]
    this.met.repeats += one.unanswered.length
    const restored = one.copy.lost(2).map((entry) => {
      this.#ids += 1
      return { ...entry, id: `${this.#ids}`.padStart(12, 'r') }
    })
    const before = this.twins.entries()
    const reply = await this.twins.sync({ known: one.copy.known, changes, restored })
    const after = this.twins.entries()
    this.#compare(before, after, one)
    this.#judge(one, changes, { before, reply })
    if (isReplyLost) {
      one.unanswered = changes
      return
    }
    one.unanswered = []
    this.met.restored += restored.length
    one.copy.read(reply, restored.length, this.twins.clock.us)
    for (const [i, { key }] of changes.entries()) {
      const entry = after.get(key)
      if (reply.results[i] === 'written' && entry) this.#confirmed.set(key, entry)
    }
  }

  /** No change overwrites a later one: neither one that the list had, nor one that its sender knew. */
  #compare(before: Map<string, RuleEntry>, after: Map<string, RuleEntry>, { copy }: Process): void {
    for (const [key, { changedAt, keptUntil, text }] of after) {
      const was = before.get(key)
      const isSame = was?.changedAt === changedAt
      if (was && (was.changedAt > changedAt || (isSame && was.text !== text)))
        throw new Error(`${key} is older than before`)
      if (was && was.keptUntil > keptUntil) throw new Error(`${key} is forgotten earlier`)
      const known = copy.get(key)
      if (!isSame && known && known.keptUntil > this.#latestUs && known.changedAt > changedAt) {
        throw new Error(`${key} is older than its sender knew`)
      }
    }
  }

  /** A process lifts a rule that holds, unless a later change has lifted it. */
  #judge(
    { copy }: Process,
    changes: readonly RuleChange[],
    { before, reply }: { readonly before: Map<string, RuleEntry>; readonly reply: RulesReply },
  ): void {
    const [first] = changes
    if (!first || first.text !== '') return
    const holds = (entry: RuleEntry | undefined): boolean =>
      entry !== undefined && entry.text !== '' && entry.until > reply.at
    const [listed, known] = [before.get(first.key), copy.get(first.key)]
    const latest = (listed?.changedAt ?? -1) >= (known?.changedAt ?? -1) ? listed : known
    if (!holds(latest)) return
    this.met.lifts += 1
    if (reply.results[0] !== 'written')
      throw new Error(`${first.key} was not lifted: ${JSON.stringify(latest)}`)
  }

  /** What was confirmed is in the list, or a process knows it. */
  #check(isLoss: boolean): void {
    const listed = this.twins.entries()
    for (const [key, { changedAt, keptUntil }] of this.#confirmed) {
      const all = [listed.get(key), ...this.#processes.map(({ copy }) => copy.get(key))]
      if (all.some((entry) => entry && entry.changedAt >= changedAt)) continue
      if (!isLoss && keptUntil > this.#latestUs) throw new Error(`${key} is lost`)
      this.#confirmed.delete(key)
    }
  }

  /** In the end all processes have read everything: they agree with each other and with what was confirmed. */
  async #settle(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      for (const one of this.#processes) {
        do await this.#call(one, [], false)
        while (one.copy.hasLost)
      }
    }
    this.#check(false)
    const listed = this.twins.entries()
    for (const { copy } of this.#processes) {
      const held = [...copy.entries()].filter(([, { keptUntil }]) => keptUntil > this.#latestUs)
      for (const [key, entry] of held) {
        if (!isDeepStrictEqual(listed.get(key), entry)) {
          throw new Error(`${key} differs: ${JSON.stringify(entry)} and ${JSON.stringify(listed.get(key))}`)
        }
      }
      for (const [key, entry] of listed) {
        if (!isDeepStrictEqual(copy.get(key), entry) && entry.keptUntil > this.#latestUs) {
          throw new Error(`${key} was not read: ${JSON.stringify([entry, copy.get(key), this.#latestUs])}`)
        }
      }
    }
  }
}
