import { ConfigError, StoreError, toStoreError, TollgateError } from '../../base/errors.js'
import { givenOf, isOptions } from '../../base/options.js'
import { randomText } from '../../base/platform.js'
import { elapsedMs, pause } from '../../base/timers.js'
import { withDates } from '../../features/rules/rule.js'
import type { Rules } from '../../features/rules/rules.js'
import type { Subject } from '../../plans/subject.js'
import { needSubject } from '../../requests/subject/subject.js'
import type { Board, NoteTerms } from '../../stores/board.js'
import type { Decision } from '../decision/decision.js'
import type { HeldLimit, Look } from '../look.js'
import { answered, topicOf } from './board-access.js'
import { readLeft } from './given-plans.js'

/** Where a subject stands, as a process says that knows its plan. */
export interface Inspection extends Pick<
  Decision,
  'plan' | 'violated' | 'retryAfterMs' | 'reason' | 'override' | 'allowed'
> {
  /** All its limits. */
  readonly limits: readonly HeldLimit[]
  /** Set if it is the default plan because nobody named one: there is no `planOf`. Requests can name another. */
  readonly isDefaultPlan?: true
  /** The block that denies all its requests now. */
  readonly block?: {
    readonly of: string
    readonly until: Date
    readonly level?: number
    readonly reason?: string
  }
}

const ANSWERS: NoteTerms = { keptMs: 10_000, most: 1000 }
/** Processes learn of a question within a second. */
const [WAIT_MS, LOOK_EVERY_MS] = [3000, 100]
/** So long a process waits at most, so that not all of them answer at once. */
const MOST_DELAY_MS = 300
const LONGEST_QUESTION = 2000
const FORMAT = 1

/** What makes an inspection. */
export interface Inspector {
  /** @param behindBlock whether to look as if no rule blocked it */
  readonly look: (subject: Subject, behindBlock: boolean) => Promise<Look>
  /** The subject with its plan; undefined if nobody says it, or `planOf` fails: then it gets the default one. */
  readonly confirm: (subject: Subject) => Promise<Subject | undefined>
}

interface QuestionsOptions extends Inspector {
  readonly board: Board
  readonly name: string
  readonly rules: Pick<Rules, 'ask' | 'take'>
  /** Whether only hashes of ids may get into the store. */
  readonly hides: boolean
}

/** Questions that one process asks all others of a limiter, and that one of them answers. */
export class Questions {
  readonly #options: QuestionsOptions

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /**
   * Asks where a subject stands.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, and whatever the other process met
   * @throws {StoreError} when the store does not answer, or no process does
   */
  async ask(given: Subject | string): Promise<Inspection> {
    const { rules, board, name, hides } = this.#options
    const { id, plan, kind, anchor, timeZone, limits } = needSubject(given)
    if (hides || (await readLeft(board, name)).hides)
      throw new ConfigError(
        'subject',
        'with hashIds no other process can be asked, since the store would get the id',
      )
    const text = JSON.stringify([FORMAT, { id, ...givenOf({ plan, kind, anchor, timeZone, limits }) }])
    if (text.length > LONGEST_QUESTION) throw new ConfigError('subject', 'its id is too long to ask for')
    const question = randomText(9)
    const untilMs = elapsedMs() + WAIT_MS
    await rules.ask(question, text)
    while (elapsedMs() < untilMs) {
      await pause(LOOK_EVERY_MS)
      const notes = await answered(board.read(topicOf('answers', name), { ...ANSWERS, sinceMs: 0 }))
      const answer = notes.find((note) => note.id === question)
      if (answer) return readAnswer(answer.text)
    }
    const problem = 'no process of this limiter answered: none runs, or each has traffic: false'
    throw new StoreError(problem, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
  }

  /** Answers a question, unless another process does. Never rejects. */
  async answer(question: string, text: string): Promise<void> {
    const { rules, board, name } = this.#options
    await pause(Math.random() * MOST_DELAY_MS)
    try {
      if (!(await rules.take(question))) return
      const [format, subject] = JSON.parse(text, withDates) as [number, Subject]
      if (format !== FORMAT || !isOptions(subject)) return
      const answer = await inspect(subject, this.#options).catch(toFailure)
      await board.put(
        topicOf('answers', name),
        [{ id: question, text: JSON.stringify([FORMAT, answer]) }],
        ANSWERS,
      )
    } catch {
      // Whoever asked is told that nobody answered.
    }
  }
}

/** @throws whatever `look` does */
export async function inspect(subject: Subject, { look, confirm }: Inspector): Promise<Inspection> {
  const confirmed = await confirm(subject)
  const asked = confirmed ?? subject
  const first = await look(asked, false)
  const { allowed, violated, retryAfterMs, reason, block, source } = first.decision
  // A rule answers before the plan is looked up.
  const seen = source === 'rule' ? await look(asked, true) : first
  const { plan, override } = seen.decision
  const limits = seen.limits.map(({ timeZone: _, ...limit }) => limit)
  const isDefaultPlan = confirmed || subject.plan ? undefined : true
  return {
    ...{ plan, limits, allowed, violated, retryAfterMs },
    ...givenOf({ isDefaultPlan, reason, override, block }),
  }
}

interface Failure {
  readonly failed: string
}

function toFailure(thrown: unknown): Failure {
  return { failed: thrown instanceof Error ? thrown.message : String(thrown) }
}

/** @throws {TollgateError} for what the other process met */
function readAnswer(text: string): Inspection {
  const [format, answer] = readJson(text)
  if (format !== FORMAT || !isOptions(answer))
    throw new StoreError('a process answered that has another version of Tollgate', { reason: 'protocol' })
  if ('failed' in answer)
    throw new TollgateError('ERR_TOLLGATE_PLAN', `the process that answered failed: ${answer.failed}`)
  if (!isInspection(answer))
    throw new StoreError('a process gave an answer that is none', { reason: 'protocol' })
  const { block } = answer
  return block ? { ...answer, block: { ...block, until: new Date(block.until) } } : answer
}

function isInspection({ plan, limits, allowed, violated, retryAfterMs, block }: Inspection): boolean {
  const isLimit = ({ name, ...numbers }: HeldLimit): boolean => {
    const { quota, windowMs, used, remaining, resetMs, over = 0, toppedUp = 0, held = 0 } = numbers
    const all = [quota, windowMs, used, remaining, resetMs, over, toppedUp, held]
    return typeof name === 'string' && all.every((number) => typeof number === 'number')
  }
  return (
    typeof plan === 'string' &&
    typeof allowed === 'boolean' &&
    (retryAfterMs === null || typeof retryAfterMs === 'number') &&
    Array.isArray(limits) &&
    limits.every(isLimit) &&
    Array.isArray(violated) &&
    violated.every((name) => typeof name === 'string') &&
    (block === undefined ||
      (typeof block.of === 'string' && Number.isFinite(Date.parse(String(block.until)))))
  )
}

function readJson(text: string): readonly [unknown, Inspection | Failure] {
  try {
    return JSON.parse(text) as readonly [unknown, Inspection | Failure]
  } catch (error) {
    throw toStoreError(error)
  }
}
