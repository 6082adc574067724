// Requests in flight before, during and after a fault, from two processes: one meets the fault of the connection, too.
import { createLimiter, type Decision, type FailurePolicy, type Limiter } from '../../src/index.js'
import type { FaultWorld, Phase } from './fault-play.js'
import { Random } from '@tollgate/testing'
import { Case } from './tally.js'
import { answered, eventually } from './within.js'

const MOST = { large: 12, small: 3 } as const
type Size = keyof typeof MOST
const IDS = ['large-a', 'small-a', 'small-b'] as const

interface Flight {
  readonly decision: Decision
  readonly id: string
}

export class SlotFaultPlay {
  readonly case: Case
  readonly #random: Random
  readonly #world: FaultWorld
  readonly #limiter: Limiter
  readonly #direct: Limiter
  #flights: Flight[] = []

  constructor(seed: number, prefix: string, world: FaultWorld) {
    this.case = new Case(seed)
    this.#random = new Random(seed)
    this.#world = world
    const own = `${prefix}:slots-${seed}`
    const plans = { large: `${MOST.large} concurrent`, small: `${MOST.small} concurrent` }
    const options = { plans, local: { instances: 2 }, warnings: false } as const
    const onStoreFailure = this.#random.pick<FailurePolicy>(['open', 'closed', 'local'])
    this.#limiter = createLimiter({ ...options, store: world.store(own), onStoreFailure, deadlineMs: 60 })
    this.#direct = createLimiter({
      ...options,
      store: world.direct(own),
      onStoreFailure: 'closed',
      deadlineMs: 2000,
    })
  }

  /** Sends five rounds of requests, of which some end. */
  async phase(phase: Phase): Promise<void> {
    if (phase === 'during') this.case.faults += 1
    for (let tick = 0; tick < 5; tick += 1) {
      const count = this.#random.int(2, 5)
      await Promise.all(Array.from({ length: count }, () => this.#consume()))
      for (let ends = this.#random.int(0, 4); ends > 0; ends -= 1) this.#end()
    }
  }

  /** Waits until the store decides again. */
  async recovered(): Promise<void> {
    await eventually(async () => {
      const decision = await answered(this.#limiter.consume({ id: 'warm', plan: 'large' }), 'a request')
      decision.release()
      return decision.source === 'store'
    })
  }

  /** Ends all requests: then all slots are free again, for every process. */
  async close(): Promise<void> {
    while (this.#flights.length > 0) this.#end()
    for (const id of IDS) {
      // Sooner than the store would drop what nobody tells of: the end of each is told again until it is heard.
      let free = -1
      let source = ''
      await eventually(async () => {
        const decision = await answered(this.#direct.peek({ id, plan: planOf(id) }), 'a look')
        source = decision.source
        free = decision.limits[0]?.remaining ?? -1
        return (
          (source === 'store' && free === MOST[planOf(id)]) || (source !== 'store' && this.#world.staysDown)
        )
      })
      // A shard that stays down cannot be checked.
      if (source !== 'store' && this.#world.staysDown) continue
      for (const law of [2, 11]) {
        this.case.check(
          law,
          free === MOST[planOf(id)],
          () => `${free} of ${MOST[planOf(id)]} of ${id} are free`,
        )
      }
    }
    const all = [this.#limiter, this.#direct].map((limiter) =>
      answered(limiter.close(), 'the close of a limiter'),
    )
    await Promise.all(all)
    const { inFlight } = this.#limiter.stats()
    this.case.check(9, inFlight === 0, () => `${inFlight} are still in flight`)
  }

  async #consume(): Promise<void> {
    const id = this.#random.pick(IDS)
    const limiter = this.#random.chance(0.7) ? this.#limiter : this.#direct
    const decision = await answered(limiter.consume({ id, plan: planOf(id) }), 'a request')
    this.case.check(9, true, () => '')
    this.case.decisions += 1
    if (!decision.allowed) this.case.denials += 1
    if (!decision.allowed) return
    this.#flights.push({ decision, id })
    const given = this.#flights.filter(
      (flight) => flight.id === id && flight.decision.source === 'store',
    ).length
    const most = MOST[planOf(id)] * (this.#world.losesData ? 2 : 1)
    this.case.check(1, given <= most, () => `${given} of ${id} run by the store's leave, at most ${most}`)
  }

  #end(): void {
    const [flight] = this.#flights.splice(this.#random.int(0, Math.max(this.#flights.length - 1, 0)), 1)
    if (!flight) return
    this.case.refunds += 1
    const isReleased = flight.decision.release()
    this.case.check(11, isReleased && !flight.decision.release(), () => 'a slot goes back once')
  }
}

function planOf(id: string): Size {
  return id.split('-')[0] as Size
}
