// One process of the checker: the real InFlight with what the pipeline does around it. What it sends and hears, and when, is up to
// the checker.
import { InFlight } from '../../../src/features/in-flight/in-flight.js'
import { compilePlan } from '../../../src/plans/plan.js'
import { type Part, type Request, isTaken } from '../../../src/requests/request.js'
import type { Message } from './checker-network.js'
import type { WorldOptions } from './checker-options.js'
import { KEYS, setOf, type Key } from './checker-store.js'
import { Timers, within } from './checker-time.js'

/** Older than anything that a process goes by. */
const LONG_MS = 30_000
const PLAN = compilePlan('plan', '1/s', 'plans.plan')

/** A request of a process. */
export interface Ask {
  readonly request: Request
  readonly keys: readonly Key[]
  /** The steps that are still to be asked. */
  steps: readonly Request[]
  state: 'undecided' | 'running' | 'over'
}

type Sent = Pick<Message, 'requests' | 'ask' | 'onAnswer' | 'onLate'>

export class CheckedProcess {
  readonly number: number
  life = 0
  inFlight: InFlight
  timers = new Timers()
  asks: Ask[] = []
  isPaused = false
  /** Whether it does not ask the store, since that did not answer. */
  isDown = false
  isRecovering = false
  #hasRecovered = false
  readonly #options: WorldOptions
  readonly #post: (message: Message) => void

  constructor(number: number, options: WorldOptions, post: (message: Message) => void) {
    this.number = number
    this.#options = options
    this.#post = post
    this.inFlight = this.#begin()
  }

  get holder(): string {
    return `p${this.number}${this.life}`.padEnd(6, '-')
  }

  get running(): Ask[] {
    return this.asks.filter(({ state }) => state === 'running')
  }

  get undecided(): number {
    return this.asks.filter(({ state }) => state === 'undecided').length
  }

  /** Of each key how many numbers are accounted for: others are told beside it. */
  get numbers(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.inFlight.keys].map(([key, { known }]) => [key, known]))
  }

  /** All that it knows. */
  state(): unknown {
    const { isPaused, isDown, isRecovering, timers } = this
    const nowMs = timers.nowMs
    const slots = [...this.inFlight.keys].map(([key, one]) => {
      const ages = [one.renewedAtMs, one.failedAtMs].map(
        (atMs) => atMs > 0 && Math.min(nowMs - atMs, LONG_MS),
      )
      return [key, one.state(), ages, one.isTight]
    })
    const asks = this.asks.map(({ state, steps }) => [state, steps.length])
    return [slots, asks, timers.state(), isPaused, isDown, isRecovering, this.#hasRecovered]
  }

  ask(): void {
    const request = this.#run(() => this.inFlight.prepare(this.#newRequest()))
    const keys = request.parts.map(({ key }) => key as Key)
    const ask: Ask = { request, keys, steps: request.steps ?? [request], state: 'undecided' }
    this.asks.push(ask)
    // While the store is not asked, the failure policy lets it in.
    if (this.isDown) this.#decide(ask, true)
    else this.#askNext(ask)
  }

  /** Ends the request that runs longest. */
  release(): void {
    const [ask] = this.running
    if (!ask) return
    this.#run(() => ask.request.inFlight?.release())
    this.#over(ask)
  }

  /** The deadline of a message has passed: the failure policy decides. */
  fail(message: Message, isLetIn: boolean): void {
    message.isAwaited = false
    if (message.ask) this.#decide(message.ask, isLetIn)
    else this.#run(() => message.onAnswer(undefined))
  }

  reset(): void {
    this.#run(() => this.inFlight.forget('reset', KEYS))
  }

  /** The store answers again: it is told of all slots before it is asked. */
  up(): void {
    this.isRecovering = this.#hasRecovered = true
    this.#run(() =>
      this.inFlight.recover(0, () => {
        this.isRecovering = false
        if (this.#hasRecovered) this.isDown = false
      }),
    )
  }

  goOn(): void {
    this.isPaused = false
    this.pass(0)
  }

  pass(ms: number): void {
    this.timers.pass(ms, this.isPaused)
  }

  crash(): void {
    for (const ask of this.asks) ask.state = 'over'
    this.asks = []
    this.life += 1
    this.timers = new Timers()
    this.isPaused = this.isDown = this.isRecovering = false
    this.inFlight = this.#begin()
  }

  #begin(): InFlight {
    return this.#run(
      () =>
        new InFlight(this.holder, {
          answersAtOnce: false,
          send: (request, onAnswer) =>
            this.#send({
              ...{ requests: [request], ask: undefined },
              onAnswer: (outcomes) => this.#run(() => onAnswer(outcomes?.[0])),
              onLate: () => this.#run(() => this.inFlight.late([request])),
            }),
          charge: (batch, onAnswers) =>
            this.#send({
              ...{ requests: batch, ask: undefined, onLate: () => {} },
              onAnswer: (outcomes) => {
                if (!outcomes) this.#hasRecovered = false
                this.#run(() => onAnswers(outcomes ?? []))
              },
            }),
          isRefused: () => this.isDown,
          emit: () => {},
        }),
    )
  }

  #askNext(ask: Ask): void {
    const [step, ...others] = ask.steps as [Request, ...Request[]]
    const isStep = ask.steps.length > 1 || ask.request.steps !== undefined
    ask.steps = others
    this.#run(() => step.inFlight?.sent(step))
    const sentAtMs = this.timers.nowMs
    this.#send({
      requests: [step],
      ask,
      onAnswer: ([outcome] = []) => {
        if (!outcome) return
        this.#run(() => step.inFlight?.answered(step, outcome, sentAtMs))
        if (isTaken(outcome) && others.length > 0) this.#askNext(ask)
        else this.#decide(ask, isTaken(outcome))
      },
      // The deadline of a request in several steps is over before that of its last call.
      onLate: ([outcome]) =>
        this.#run(() =>
          isStep && outcome ? step.inFlight?.answered(step, outcome, sentAtMs) : this.inFlight.late([step]),
        ),
    })
  }

  #send(sent: Sent): void {
    this.#post({ ...sent, by: this, life: this.life, isAwaited: true, isTold: false })
  }

  #decide(ask: Ask, isAllowed: boolean): void {
    this.#run(() => ask.request.inFlight?.conclude(isAllowed))
    if (isAllowed) ask.state = 'running'
    else this.#over(ask)
  }

  #over(ask: Ask): void {
    ask.state = 'over'
    this.asks = this.asks.filter((one) => one !== ask)
  }

  #newRequest(): Request {
    const { asks, quota } = this.#options
    const parts = KEYS.slice(0, asks === 'one key' ? 1 : 2).map((key): Part => {
      const rest = { limits: [], planName: 'plan', place: undefined, onStoreFailure: undefined, shard: 0 }
      return { ...rest, key, set: setOf(quota), cost: 1, subject: { id: key } }
    })
    const request: Request = {
      ...{ subject: { id: KEYS[0] }, plan: PLAN, cost: 1, parts, limits: [], shard: 0, grant: 'all' },
    }
    if (asks !== 'two steps') return request
    return { ...request, steps: parts.map((part) => ({ ...request, parts: [part] })) }
  }

  #run<T>(work: () => T): T {
    return within(this.timers, work)
  }
}
