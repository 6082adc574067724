// Sets and lifts rules, and checks that they do to decisions what other plans would do.
import type { Limiter, StoreError, Subject } from '../../src/index.js'
import type { Play } from './play.js'
import type { RuleAct } from './rule-schedule.js'
import type { Act, Who } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

/**
 * What a call for rules resolves to. On a slow machine the store may need longer than the call waits, and has done its part all
 * the same: then the call is repeated.
 *
 * @param again called before each repetition
 */
async function written<T>(call: () => Promise<T>, what: string, again?: () => void): Promise<T> {
  for (let left = 10; ; left -= 1) {
    try {
      return await answered(call(), what)
    } catch (error) {
      if ((error as StoreError).code !== 'ERR_TOLLGATE_STORE_TIMEOUT' || left === 0) throw error
      again?.()
    }
  }
}

/** Longer than any schedule. */
const LONG = { for: '400d' } as const

export class RuleActs {
  readonly #play: Play
  readonly #case: Case
  readonly factors = new Map<string, number>()
  /** A subject as it is sent, while an override gives it the limits of another plan, as the oracle knows it. */
  #sent: { readonly known: Who; readonly as: Who } | undefined

  constructor(play: Play, given: Case) {
    this.#play = play
    this.#case = given
  }

  /** The subjects as they are sent. */
  sent(who: readonly Who[]): readonly Who[] {
    const sent = this.#sent
    return sent ? who.map((one) => (one.id === sent.known.id ? sent.as : one)) : who
  }

  get #limiter(): Limiter {
    return this.#play.processOf({}).limiter
  }

  /** Every process reads the rules: otherwise it would take a second of real time. */
  async everywhere(): Promise<void> {
    for (const { limiter } of this.#play.processes) {
      await written(() => limiter.rules()[Symbol.asyncIterator]().next(), 'a look at the rules')
    }
  }

  async perform(act: RuleAct): Promise<void> {
    this.#case.rules += 1
    switch (act.what) {
      case 'scale':
        return this.#scale(act.plan, act.factor)
      case 'override':
        return this.#override(act)
      case 'block':
        return this.#block(act)
    }
  }

  async #scale(plan: string, factor: number | undefined): Promise<void> {
    const rule = await written(() => this.#limiter.scale(plan, factor ?? 1, LONG), 'a scale')
    if (factor === undefined) await written(() => rule.lift(), 'a lifted scale')
    if (factor === undefined) this.factors.delete(plan)
    else this.factors.set(plan, factor)
    await this.everywhere()
    this.#play.rescaled()
  }

  /** Law 7: with an override, a subject has what it would have on the other plan, and then what it had before. */
  async #override({ ask, plan }: Extract<Act, { what: 'override' }>): Promise<void> {
    const [as] = ask.who as [Who]
    if (!this.#play.isJudged) return
    // Of a scaled plan, an override takes the limits as they are written.
    if (this.factors.has(plan) || this.factors.has(as.plan)) return
    const known: Who = { id: as.id, kind: as.kind, plan }
    const rule = await written(() => this.#limiter.override(subjectOf(as), { plan, ...LONG }), 'an override')
    await this.everywhere()
    this.#sent = { known, as }
    const moved = { ...ask, who: [known] }
    await this.#play.settled(moved)
    await this.#play.lone(moved)
    await this.#play.settled(moved)
    await written(() => rule.lift(), 'a lifted override')
    await this.everywhere()
    this.#sent = undefined
    await this.#play.settled(ask)
  }

  /** Law 2: a blocked request takes nothing, from none of its subjects. */
  async #block({ ask, who }: Extract<Act, { what: 'block' }>): Promise<void> {
    const subject = subjectOf(who)
    await written(() => this.#limiter.block(subject, LONG), 'a block')
    await this.everywhere()
    const { places } = this.#play.processOf({})
    const given = this.#play.given(ask)
    const decision = await answered(places[ask.place].consume(given, { cost: ask.cost }), 'a request')
    const isDenied = !decision.allowed && decision.source === 'rule'
    this.#case.check(
      2,
      isDenied,
      () => `a blocked subject was answered ${decision.allowed} by ${decision.source}`,
    )
    let isLifted = false
    const lift = async (): Promise<void> => {
      isLifted = (await this.#limiter.unblock(subject)) || isLifted
    }
    // The first of two calls may have lifted it.
    await written(lift, 'a lifted block', () => (isLifted = true))
    await this.everywhere()
    this.#case.check(2, isLifted, () => 'a block was not lifted')
    await this.#play.settled(ask)
  }
}

function subjectOf({ id, kind }: Who): Subject {
  return { id, kind }
}
