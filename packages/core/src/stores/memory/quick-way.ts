import type { LimitAnswer } from '../../algorithms/implementation.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { SubRequest } from '../contract.js'
import type { PreparedLimit } from './prepared-limit.js'
import { EXPIRES, LAST, MORE, MORE_LIMITS, NONE, STATES, type Records } from './records.js'

/**
 * Decides what is common straight on a subject's record: all or nothing, of a subject that was on the same limits at its
 * last write, each of them in a state that its algorithm decides quickly.
 */
export class QuickWay {
  readonly #records: Records
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  /** One object for all requests, since garbage collection of one for each costs more. */
  readonly #request = { cost: 0, takes: false, last: 0, now: 0 }

  constructor(records: Records, keptUs: number) {
    this.#records = records
    this.#keptUs = keptUs
  }

  /**
   * @param mayTake whether the cost is taken if it fits all limits
   * @returns undefined where the general way must decide, also where it counts a denial: then nothing has changed
   */
  decide(part: SubRequest, mayTake: boolean, now: number): LimitAnswer[] | undefined {
    const answers = this.#decide(part, mayTake, now)
    if (part.cost === 1 || !part.set.billing || !answers) return answers
    // More units may not fit a short month that another limit makes the client wait into.
    return answers.some(({ wait }) => wait !== 0) ? undefined : answers
  }

  #decide({ key, set, cost }: SubRequest, mayTake: boolean, now: number): LimitAnswer[] | undefined {
    const records = this.#records
    const id = records.find(key)
    const prepared = id === NONE ? undefined : records.sets[id]
    if (prepared?.set !== set || needsGeneralWay(set)) return undefined
    const page = records.page(id)
    const at = records.at(id)
    const more = page[at + MORE] as number
    const request = this.#request
    request.last = page[at + LAST] as number
    if (request.last > now || (page[at + EXPIRES] as number) <= now || more >= MORE_LIMITS) return undefined
    const { limits, ttlUs } = prepared
    const kept = more === 0 ? undefined : records.states[id]
    const final = limits.length - 1
    request.cost = cost
    request.now = now
    // The last limit takes at once if all others have said that the cost fits them.
    request.takes = mayTake && final === 0
    const first = (limits[0] as PreparedLimit).decide(page, at + STATES, kept?.[0], request)
    if (!first) return undefined
    // Made with the first answer: an empty list reserves 17 places at the first push.
    const answers = [first]
    let fits = mayTake && first.wait === 0
    for (let i = 1; i <= final; i += 1) {
      request.takes = fits && i === final
      const answer = (limits[i] as PreparedLimit).decide(page, at + STATES, kept?.[i], request)
      if (!answer) return undefined
      answers.push(answer)
      if (answer.wait !== 0) fits = false
    }
    if (fits) {
      for (let i = 0; i < final; i += 1) {
        answers[i] = (limits[i] as PreparedLimit).decide(page, at + STATES, kept?.[i], request) as LimitAnswer
      }
      page[at + LAST] = now
      page[at + EXPIRES] = now + ttlUs + this.#keptUs
    } else if (mayTake && set.blockAfter) return undefined
    if (mayTake) records.use(id, now)
    return answers
  }
}

/** Whether requests of a set are always decided in the general way. */
function needsGeneralWay({ inFlightIndex, isLenient }: LimitSet): boolean {
  return inFlightIndex !== undefined || isLenient === true
}
