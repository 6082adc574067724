import { StoreError } from '../../base/errors.js'
import {
  CHANGE_RESULTS,
  INSTANCE_KEPT_MS,
  MOST_ENTRIES_A_REPLY,
  MOST_RULES,
  VERSIONS_KNOWN,
  type ChangeResult,
  type RuleEntry,
  type RuleList,
  type RulesCall,
  type RulesReply,
} from '../rule-list.js'
import type { RedisPort, ScriptArg } from './clients/index.js'
import type { Layout } from './layout.js'
import { Script } from './script.js'
import { rulesScript } from './scripts/scripts.generated.js'

/** The list's keys: no subject can have one of these. All are in one shard. */
const KEYS = ['!rules', '!rules.version', '!rules.end', '!rules.id']
const INSTANCES = '!instances.'
const SHARD = 0
/** The script's number for each of CHANGE_RESULTS. */
const RESULTS = [1, 0, -1, -2]
const HEAD = 5
const FIELDS = 5

/** The list of rules in Redis, which all stores with this client and prefix share. */
export class RedisRules implements RuleList {
  readonly #port: RedisPort
  readonly #script: Script
  readonly #layout: Layout
  readonly #keys: readonly string[]
  readonly #now: () => ScriptArg
  readonly #keptMs: number

  /**
   * @param now    in µs; empty for Redis's own time
   * @param keptMs how many ms longer than necessary keys are kept, under a test's clock
   */
  constructor(port: RedisPort, layout: Layout, now: () => ScriptArg, keptMs: number) {
    this.#port = port
    this.#script = new Script(port, rulesScript)
    this.#layout = layout
    this.#keys = KEYS.map((key) => layout.nameOf(key, SHARD))
    this.#now = now
    this.#keptMs = keptMs
  }

  async sync({ instances = [], known, changes, restored }: RulesCall): Promise<RulesReply> {
    await this.#port.ready()
    const args: ScriptArg[] = [this.#now(), known.version, known.id]
    args.push(MOST_RULES, MOST_ENTRIES_A_REPLY, VERSIONS_KNOWN, this.#keptMs, changes.length)
    args.push(INSTANCE_KEPT_MS * 1000)
    for (const { id, isOpen } of instances) args.push(id, isOpen ? 1 : 0)
    for (const { id, key, text, end, knownAt, keptUntil } of changes) {
      args.push(id, key, text, ...('at' in end ? [end.at, 1] : [end.inUs, 0]), knownAt, keptUntil)
    }
    for (const { id, key, changedAt, until, keptUntil, text } of restored) {
      args.push(id, key, changedAt, until, keptUntil, text)
    }
    const counted = instances.map(({ of }) => this.#layout.nameOf(INSTANCES + of, SHARD))
    const sending = { keys: [...this.#keys, ...counted], args, shard: SHARD }
    return this.#script.run(sending, (reply) => readRules(reply, instances.length, changes.length))
  }
}

function readRules(reply: unknown, instances: number, changes: number): RulesReply {
  const first = HEAD + instances
  if (!Array.isArray(reply) || reply.length < first + changes) {
    throw new StoreError('Redis did not answer the script for rules with a list', { reason: 'protocol' })
  }
  const [at, version, id, isWhole, hasMore] = reply as readonly unknown[]
  const entries: RuleEntry[] = []
  for (let i = first + changes; i < reply.length; i += FIELDS) {
    const [key, changedAt, until, keptUntil, text] = reply.slice(i, i + FIELDS) as readonly unknown[]
    entries.push({
      key: String(key),
      changedAt: Number(changedAt),
      until: Number(until),
      keptUntil: Number(keptUntil),
      text: String(text),
    })
  }
  return {
    at: Number(at),
    instances: reply.slice(HEAD, first).map(Number),
    results: reply.slice(first, first + changes).map(toResult),
    isWhole: Number(isWhole) === 1,
    entries,
    known: { version: Number(version), id: String(id) },
    hasMore: Number(hasMore) === 1,
  }
}

function toResult(given: unknown): ChangeResult {
  return CHANGE_RESULTS[RESULTS.indexOf(Number(given))] ?? 'absent'
}
