// One process of the checker: the real waiting room, and what gives units back, with the requests, the answers and the time that
// the checker gives them.
import type { Timing } from '../../../src/base/clocks.js'
import { Holds } from '../../../src/features/holds/holds.js'
import type { Decision } from '../../../src/limiter/decision/decision.js'
import type { WaitingChange } from '../../../src/limiter/waiting/waiting-change.js'
import { WaitingRoom, type WaitingHost } from '../../../src/limiter/waiting/waiting-room.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { FeatureHost, GivenBack } from '../../../src/requests/feature.js'
import { type Request, type Verdict, toVerdict } from '../../../src/requests/request.js'
import type { Outcome, RefundRequest } from '../../../src/stores/contract.js'
import { refundOf } from '../../../src/stores/receipts.js'
import { DEADLINE_MS } from './checker-options.js'
import type { Message, Told } from './checker-network.js'
import { partOf } from './checker-store.js'

const PLAN = compilePlan('line', '1/s', 'plans.line')
const AGAIN_AFTER_MS = 250

/** A place that the process heard of. */
export interface Place {
  readonly id: string
  /** From when on and until when the process can use it, as far as it knows, in ms. */
  readonly wakeMs: number
  readonly latestMs: number
  /** Its time and its end in truth, in ms; and its time by the store's clock, in µs. */
  readonly timeMs: number
  readonly endMs: number
  readonly dueUs: number
  /** When the store booked it, in ms. */
  readonly decidedAtMs: number
}

/** A request that came to wait. */
export interface Visit {
  readonly joinedAtMs: number
  readonly leaving: AbortController
  /** The place that it waits for. */
  place: Place | undefined
}

/** A request that was let in: at once, or from its place. */
export interface Admission {
  readonly visit: Visit
  readonly verdict: Verdict
  readonly decidedAtMs: number
  readonly place?: Place | undefined
}

/** The world that a process is in. */
export interface Surroundings {
  readonly set: LimitSet
  now(): number
  newId(): string
  post(message: Message): void
  admitted(process: CheckedProcess, admission: Admission): void
  /** Whether a timer is forgotten, which a broken rule does. */
  forgetsTimer(): boolean
}

interface Alarm {
  readonly dueMs: number
  readonly act: () => void
}

export class CheckedProcess {
  readonly name: string
  readonly room: WaitingRoom
  /** Places that were given back. */
  readonly left: Place[] = []
  /** Requests that are not answered yet. */
  visits: readonly Visit[] = []
  /** What was let in last, and can be given back. */
  newest: Admission | undefined
  isPaused = false
  /** Until when it was paused last, in ms. */
  pausedUntilMs = -Infinity
  isClosed = false
  readonly counts: Record<WaitingChange['kind'], number> = {
    booked: 0,
    admitted: 0,
    left: 0,
    late: 0,
    closed: 0,
    blocked: 0,
  }
  readonly #world: Surroundings
  readonly #holds: Holds
  #alarms: readonly Alarm[] = []
  #asked: readonly Message[] = []

  constructor(name: string, world: Surroundings) {
    this.name = name
    this.#world = world
    const timing: Timing = { now: () => world.now(), after: (ms, act) => this.#after(ms, act) }
    const send: FeatureHost['send'] = (request, onAnswer) =>
      this.#post({ request }, (told) => onAnswer(told?.outcome))
    this.#holds = new Holds({ send, refund: (request) => this.#refund(request) }, timing)
    this.room = new WaitingRoom(this.#host(), {
      newId: () => world.newId(),
      timing,
      emit: ({ kind }) => void (this.counts[kind] += 1),
    })
  }

  /** Those that have a place and wait. */
  get waiting(): { readonly visit: Visit; readonly place: Place }[] {
    return this.visits.flatMap((visit) => (visit.place ? [{ visit, place: visit.place }] : []))
  }

  /** A request comes. @returns whether it may wait */
  join(): boolean {
    const { set } = this.#world
    const leaving = new AbortController()
    const visit: Visit = { joinedAtMs: this.#world.now(), leaving, place: undefined }
    const decided = this.room.join({
      ...{
        subject: { id: 'tenant' },
        plan: PLAN,
        cost: 1,
        parts: [partOf(set)],
        limits: [],
        shard: 0,
        grant: 'all',
      },
      ...{ signal: leaving.signal, context: visit },
    })
    if (!decided) return false
    this.visits = [...this.visits, visit]
    const end = (): void => {
      this.visits = this.visits.filter((one) => one !== visit)
    }
    Promise.resolve(decided).then(end, end)
    return true
  }

  /** When it has to act next, in ms: a deadline has passed, or a timer fires. */
  nextMs(): number {
    const deadlines = this.#asked.map(({ sentAtMs }) => sentAtMs + DEADLINE_MS)
    return Math.min(...deadlines, ...this.#alarms.map(({ dueMs }) => dueMs))
  }

  act(): void {
    const nowMs = this.#world.now()
    for (const message of this.#asked) {
      if (message.sentAtMs + DEADLINE_MS > nowMs) continue
      this.#answered(message)
      message.onAnswer(undefined)
    }
    const due = this.#alarms.filter(({ dueMs }) => dueMs <= nowMs)
    this.#alarms = this.#alarms.filter(({ dueMs }) => dueMs > nowMs)
    for (const { act } of due.toSorted((a, b) => a.dueMs - b.dueMs)) act()
  }

  close(): void {
    this.isClosed = true
    void this.room.close()
  }

  /** Gives back what was let in last. */
  refund(): void {
    if (this.newest) void this.#giveBack(this.newest.verdict, 1)
    this.newest = undefined
  }

  /** All that it knows, with times before `nowMs`. */
  text(nowMs: number): unknown {
    const visits = this.visits.map(({ joinedAtMs, place, leaving }) => {
      const { id, wakeMs = 0, latestMs = 0, timeMs = 0, endMs = 0 } = place ?? {}
      const times = place && [wakeMs, latestMs, timeMs, endMs].map((ms) => ms - nowMs)
      return [nowMs - joinedAtMs, leaving.signal.aborted, id, times]
    })
    const alarms = this.#alarms.map(({ dueMs }) => dueMs - nowMs)
    const newest = this.newest && [this.newest.verdict.outcome?.limits, nowMs - this.newest.decidedAtMs]
    return [visits, alarms, newest, this.isPaused, nowMs - this.pausedUntilMs, this.isClosed]
  }

  #host(): WaitingHost {
    return {
      isRefused: () => false,
      blockOf: () => undefined,
      ask: (request) => this.#ask(request),
      conclude: (request, [verdict]) => this.#conclude(request, verdict as Verdict),
      giveBack: (verdict, units) => {
        const visit = verdict.step.context as Visit
        if (visit.place) this.left.push(visit.place)
        visit.place = undefined
        return this.#giveBack(verdict, units)
      },
    }
  }

  /** As the pipeline gives units back. */
  #giveBack(verdict: Verdict, units: number): Promise<GivenBack> {
    const { step, outcome } = verdict
    return this.#holds.giveBack(verdict, units) ?? this.#refund(refundOf(step, outcome as Outcome, units))
  }

  #after(ms: number, act: () => void): () => void {
    if (this.#world.forgetsTimer()) return () => {}
    const alarm = { dueMs: this.#world.now() + ms, act }
    this.#alarms = [...this.#alarms, alarm]
    return () => {
      this.#alarms = this.#alarms.filter((one) => one !== alarm)
    }
  }

  #answered(message: Message): void {
    message.isOver = true
    this.#asked = this.#asked.filter((one) => one !== message)
  }

  #post(
    what: Pick<Message, 'request' | 'refund'>,
    onAnswer: Message['onAnswer'],
    onLate: Message['onLate'] = () => {},
  ): void {
    const message: Message = {
      ...{ by: this.name, ...what, sentAtMs: this.#world.now(), isOver: false, onLate },
      onAnswer: (told) => {
        this.#answered(message)
        onAnswer(told)
      },
    }
    this.#asked = [...this.#asked, message]
    this.#world.post(message)
  }

  /** As the pipeline asks. */
  #ask(step: Request): Promise<Verdict> {
    const sentAtMs = this.#world.now()
    return new Promise((resolve) => {
      const onAnswer = (told: Told | undefined): void => {
        if (told?.outcome) return resolve(this.#learn(step, told.outcome, { ...told, sentAtMs }))
        this.#holds.failed(step)
        resolve({ source: 'closed', allowed: false, step })
      }
      this.#post({ request: step }, onAnswer, ({ outcome }) => outcome && this.#late(step, outcome))
    })
  }

  #learn(
    step: Request,
    outcome: Outcome,
    { truth, decidedAtMs, sentAtMs }: Told & { readonly sentAtMs: number },
  ): Verdict {
    const visit = step.context as Visit
    const verdict = toVerdict('store', step, outcome)
    if (verdict.allowed && outcome.hold && truth?.hold && truth.hold.endsInUs > 0) {
      visit.place = {
        id: step.hold?.id ?? '',
        wakeMs: this.#world.now() + outcome.hold.delayUs / 1000,
        latestMs: sentAtMs + outcome.hold.endsInUs / 1000,
        timeMs: decidedAtMs + truth.hold.delayUs / 1000,
        endMs: decidedAtMs + truth.hold.endsInUs / 1000,
        dueUs: truth.at + truth.hold.delayUs,
        decidedAtMs,
      }
    } else if (verdict.allowed) this.#admit({ visit, verdict, decidedAtMs })
    return verdict
  }

  #late(step: Request, outcome: Outcome): void {
    this.#holds.late([step], [outcome])
    const isTaken = toVerdict('store', step, outcome).allowed && !outcome.hold?.endsInUs
    if (isTaken) void this.#refund(refundOf(step, outcome, 1))
  }

  #conclude(request: Request, verdict: Verdict): Decision {
    const visit = request.context as Visit
    const { place } = visit
    if (verdict.source === 'place' && verdict.allowed && place) {
      visit.place = undefined
      this.#admit({ visit, verdict, decidedAtMs: place.decidedAtMs, place })
    }
    return { allowed: verdict.allowed } as Decision
  }

  #admit(admission: Admission): void {
    this.newest = admission
    this.#world.admitted(this, admission)
  }

  /** Is repeated until it is answered, as long as the process lives. */
  #refund(request: RefundRequest): Promise<GivenBack> {
    const refund = { ...request, id: `refund-${this.#world.newId()}` }
    return new Promise((resolve) => {
      const send = (): void =>
        this.#post({ refund }, (told) => {
          resolve(told ? (told.isGiven ? 'given' : 'gone') : 'unknown')
          if (!told) this.#after(AGAIN_AFTER_MS, send)
        })
      send()
    })
  }
}
