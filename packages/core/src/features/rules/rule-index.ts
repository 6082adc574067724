import type { Subject } from '../../plans/subject.js'
import { type HideId, subjectKey } from '../../requests/key.js'
import { kindOf, readTerms, whatOf, type RuleTerms } from './rule.js'
import type { RuleEntry } from '../../stores/rule-list.js'

/** A rule as it was read. */
export interface HeldRule {
  readonly terms: RuleTerms
  /** In µs, by the store's clock. */
  readonly until: number
  readonly changedAt: number
}

/** The rules of one subject, or of one beginning of ids. */
export interface SubjectRules {
  block: HeldRule | undefined
  override: HeldRule | undefined
}

/** Rules about subjects: by their keys, or by the beginning of their ids. */
class OfSubjects {
  readonly #exact = new Map<string, SubjectRules>()
  readonly #prefixes = new Map<string, SubjectRules>()
  /** How many prefixes there are of each length. */
  readonly #counts = new Map<number, number>()
  /** The lengths of the prefixes, the longest first. */
  #lengths: readonly number[] = []
  readonly #hide: HideId | undefined
  readonly #filter = new IdFilter()
  /** How many keys are no ids as they are: most ids are their own key, and need not be made into one. */
  #made = 0

  constructor(hide: HideId | undefined) {
    this.#hide = hide
  }

  set(what: string, kind: 'block' | 'override', rule: HeldRule | undefined): void {
    const isPrefix = what.endsWith('*')
    const at = isPrefix ? what.slice(0, -1) : what
    const all = isPrefix ? this.#prefixes : this.#exact
    const size = all.size
    const rules = { block: undefined, override: undefined, ...all.get(at), [kind]: rule }
    if (rules.block ?? rules.override) all.set(at, rules)
    else all.delete(at)
    if (!isPrefix) this.#filter.add(at)
    if (isPrefix) this.#count(at.length, all.size - size)
    else if (isMade(at)) this.#made += all.size - size
  }

  #count(length: number, more: number): void {
    const count = (this.#counts.get(length) ?? 0) + more
    if (count > 0) this.#counts.set(length, count)
    else this.#counts.delete(length)
    this.#lengths = [...this.#counts.keys()].toSorted((a, b) => b - a)
  }

  /** The rules for just this subject. */
  exact(subject: Subject): SubjectRules | undefined {
    const { id, kind } = subject
    const isOwnKey = typeof id === 'string' && kind !== 'ip' && this.#hide === undefined && this.#made === 0
    if (isOwnKey && !this.#filter.mayHave(id)) return undefined
    return this.#exact.get(subjectKey(subject, this.#hide))
  }

  get hasPrefixes(): boolean {
    return this.#lengths.length > 0
  }

  /** The rules for the beginnings of its id, the longest first. */
  *byPrefix({ id, kind }: Subject): Iterable<SubjectRules> {
    if (kind === 'ip') return
    const text = String(id)
    for (const length of this.#lengths) {
      const rules = length <= text.length ? this.#prefixes.get(text.slice(0, length)) : undefined
      if (rules) yield rules
    }
  }
}

const FILTER_BITS = 2 ** 17
/** Ids of one application differ in their last characters. */
const CHARACTERS_READ = 4

/**
 * Says of most ids that no rule has them, from 16 kB that stay in the processor's cache. A search in a map of thousands of ids
 * takes longer than all else that rules cost a request. Ids are never taken out: they only cost a search.
 */
class IdFilter {
  readonly #bits = new Uint8Array(FILTER_BITS / 8)

  add(id: string): void {
    const bit = bitOf(id)
    this.#bits[bit >> 3] = (this.#bits[bit >> 3] as number) | (1 << (bit & 7))
  }

  mayHave(id: string): boolean {
    const bit = bitOf(id)
    return ((this.#bits[bit >> 3] as number) & (1 << (bit & 7))) !== 0
  }
}

function bitOf(id: string): number {
  const { length } = id
  let bit = length
  for (let i = length < CHARACTERS_READ ? 0 : length - CHARACTERS_READ; i < length; i += 1) {
    bit = (bit * 33 + id.charCodeAt(i)) | 0
  }
  return bit & (FILTER_BITS - 1)
}

const [HASH, AT] = [35, 64]

/** Whether it is a key that was made of an id, and no id as it is. No plain id begins like this. */
function isMade(key: string): boolean {
  const first = key.charCodeAt(0)
  return first === HASH || first === AT
}

/** The rules of one limiter, as requests look them up. */
export class RuleIndex {
  readonly #subjects: OfSubjects
  /** By the key of the plan's name. */
  readonly scales = new Map<string, HeldRule>()
  /** By key, without the limiter's name. */
  readonly #all = new Map<string, HeldRule>()
  /** How many say something about requests. */
  #inUse = 0

  constructor(hide: HideId | undefined) {
    this.#subjects = new OfSubjects(hide)
  }

  get isEmpty(): boolean {
    return this.#inUse === 0
  }

  /**
   * The rules of each kind that hold for a subject: for itself, or else for the longest beginning of its id.
   *
   * @param now in µs, by the store's clock; asked only if there may be rules
   */
  find(subject: Subject, now: () => number): (SubjectRules & { readonly now: number }) | undefined {
    const exact = this.#subjects.exact(subject)
    if (!exact && !this.#subjects.hasPrefixes) return undefined
    const at = now()
    const found = { block: held(exact?.block, at), override: held(exact?.override, at), now: at }
    if (!this.#subjects.hasPrefixes) return found
    for (const { block, override } of this.#subjects.byPrefix(subject)) {
      found.block ??= held(block, at)
      found.override ??= held(override, at)
    }
    return found
  }

  get(key: string): HeldRule | undefined {
    return this.#all.get(key)
  }

  all(): IterableIterator<[string, HeldRule]> {
    return this.#all.entries()
  }

  /** @returns the rule; undefined if there is none any more */
  set(key: string, entry: RuleEntry | undefined): HeldRule | undefined {
    const terms = entry && readTerms(entry)
    const rule = terms && { terms, until: entry.until, changedAt: entry.changedAt }
    const kind = kindOf(key)
    if (kind !== 'forgetPlan') this.#inUse += Number(rule !== undefined) - Number(this.#all.has(key))
    if (rule) this.#all.set(key, rule)
    else this.#all.delete(key)
    const what = whatOf(key)
    switch (kind) {
      case 'block':
      case 'override':
        this.#subjects.set(what, kind, rule)
        break
      case 'scale':
        if (rule) this.scales.set(what, rule)
        else this.scales.delete(what)
        break
      default:
    }
    return rule
  }
}

function held(rule: HeldRule | undefined, now: number): HeldRule | undefined {
  return rule && rule.until > now ? rule : undefined
}
