// Books units and looks at usage. There is no oracle of it: roads are compared, and a booking that was repeated changes nothing.
import type { Booking, StoreError, Subject, Usage } from '../../src/index.js'
import type { BillAct } from './bill-schedule.js'
import type { Play } from './play.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

export class BillActs {
  readonly #play: Play
  readonly #case: Case
  #warnings: string[] = []

  constructor(play: Play, given: Case) {
    this.#play = play
    this.#case = given
    for (const { limiter } of play.processes) {
      limiter.on('nearLimit', ({ subject, limit, share }) => {
        this.#warnings.push(JSON.stringify(['warning', subject.id, limit, share]))
      })
    }
  }

  /** Tells the warnings since the last call, in any order: those of one batch have none. */
  tellWarnings(): void {
    for (const one of this.#warnings.toSorted()) this.#play.tell(one)
    this.#warnings = []
  }

  async perform(act: BillAct): Promise<void> {
    this.tellWarnings()
    const first = await this.#call(act)
    this.#play.tell(JSON.stringify(first))
    if (act.call === 'usageOf' || !('isRepeated' in first)) return
    this.#case.bills += 1
    const again = await this.#call(act)
    // Law 8: only that it was booked before is new.
    const holds = JSON.stringify(again) === JSON.stringify({ ...first, isRepeated: true })
    this.#case.check(8, this.#play.isLive || holds, () => {
      return `booked ${JSON.stringify(first)}, and then ${JSON.stringify(again)}`
    })
  }

  async #call(act: BillAct): Promise<Booking | Usage | { code: string }> {
    try {
      return await answered(this.#send(act), `${act.call} of a schedule`)
    } catch (error) {
      const { code } = error as StoreError
      if (code !== 'ERR_TOLLGATE_CONFIG' && code !== 'ERR_TOLLGATE_KEY') throw error
      return { code }
    }
  }

  #send({ call, place, who, limit, units, key, forMs }: BillAct): Promise<Booking | Usage> {
    const consumer = this.#play.processOf({}).places[place]
    const [subject] = this.#play.given({ place, who: [who], cost: 1 }) as [Subject]
    switch (call) {
      case 'topUp':
        return consumer.topUp(subject, { limit, units, key, for: forMs })
      case 'renew':
        return consumer.renew(subject, { limit, key })
      case 'penalize':
        return consumer.penalize(subject, { limit, units, key })
      case 'usageOf':
        return consumer.usageOf(subject, { limit })
    }
  }
}
