// Rules before, during and after a fault: none is lost, none comes back, and a blocked request is answered by the rule alone.
import type { Limiter } from '../../src/index.js'
import type { Phase } from './fault-play.js'
import type { Case } from './tally.js'
import { answered, eventually } from './within.js'

const LONG = { for: '1h' } as const

export class RulesInFault {
  readonly #case: Case
  readonly #limiter: Limiter
  /** Of another process, whose connection has no fault. */
  readonly #direct: Limiter

  constructor(given: Case, limiter: Limiter, direct: Limiter) {
    this.#case = given
    this.#limiter = limiter
    this.#direct = direct
  }

  async phase(phase: Phase): Promise<void> {
    if (phase === 'before') {
      await eventually(() => this.#isWritten(this.#limiter.block('blocked', LONG)))
      await eventually(() => this.#isWritten(this.#limiter.block('lifted', LONG)))
    }
    if (phase !== 'during') return
    // They hold here at once, and are written when the store answers. Until then their promises may reject.
    void this.#isWritten(this.#limiter.block('late', LONG))
    void this.#isWritten(this.#limiter.unblock('lifted'))
    await this.#isBlocked('late', true)
    await this.#isBlocked('lifted', false)
  }

  async #isWritten(call: Promise<unknown>): Promise<boolean> {
    const isWritten = call.then(
      () => true,
      () => false,
    )
    return answered(isWritten, 'a rule')
  }

  async consume(): Promise<void> {
    await this.#isBlocked('blocked', true)
  }

  async #isBlocked(id: string, isExpected: boolean): Promise<void> {
    const decision = await answered(this.#limiter.consume({ id, plan: 'large' }), 'a request')
    const isBlocked = !decision.allowed && decision.source === 'rule'
    const says = (): string => `${id} was answered ${decision.allowed} by ${decision.source}`
    this.#case.check(2, isBlocked === isExpected, says)
  }

  /** What the other process knows in the end. */
  async audit(): Promise<void> {
    const expected = { blocked: true, late: true, lifted: false }
    const known = async (): Promise<object> => {
      const of = async (id: string): Promise<boolean> =>
        (await answered(this.#direct.peek({ id, plan: 'large' }), 'a look')).source === 'rule'
      return { blocked: await of('blocked'), late: await of('late'), lifted: await of('lifted') }
    }
    const isSo = async (): Promise<boolean> => JSON.stringify(await known()) === JSON.stringify(expected)
    await eventually(isSo)
    const found = JSON.stringify(await known())
    this.#case.check(2, await isSo(), () => `the other process has the blocks ${found}`)
    // What a block denied has taken nothing.
    await eventually(() => this.#isWritten(this.#direct.unblock('blocked')))
    const { limits, source } = await answered(this.#direct.peek({ id: 'blocked', plan: 'large' }), 'a look')
    this.#case.check(2, limits[0]?.used === 0, () => `blocked requests used ${limits[0]?.used} by ${source}`)
  }
}
