// Plays a schedule in which everything meets on one subject, and compares what two processes are told with the books.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { Decision } from '../../src/index.js'
import { JointBooks, SLACK_US, type Flight, type JointCharge } from './joint-books.js'
import { Moment } from './joint-judge.js'
import { JointProcesses, type JointPlace } from './joint-processes.js'
import { PROCESSES, type JointAct, type JointAsk, type JointSchedule } from './joint-schedule.js'
import { JointUnits } from './joint-units.js'
import { isFlight } from './lines.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

/** What a schedule met. */
export interface JointMet {
  leased: number
  waited: number
  remembered: number
  reserved: number
  full: number
  flushes: number
  back: number
}

/** A request that was sent, and has no answer yet. */
interface Sent {
  readonly ask: JointAsk
  /** The moment in which it was sent. */
  readonly since: Moment
  readonly leaving: AbortController
  /** By then it has one, in µs. */
  readonly dueUs: number
  readonly over: Promise<void>
  /** What it took of subjects that do not wait. */
  atOnce?: JointCharge
}

const START_MS = 1_769_862_896_789
const SETTLES_WITHIN_MS = 30_000
export class JointPlay {
  readonly met: JointMet = { leased: 0, waited: 0, remembered: 0, reserved: 0, full: 0, flushes: 0, back: 0 }
  readonly books: JointBooks
  readonly #schedule: JointSchedule
  readonly case: Case
  readonly #place: JointPlace
  readonly processes: JointProcesses
  readonly #units: JointUnits
  readonly #sent = new Set<Sent>()
  readonly #running: { readonly decision: Decision; readonly flight: Flight }[] = []
  moment: Moment
  #isClosed = false

  constructor(place: JointPlace, schedule: JointSchedule, given: Case) {
    this.#place = place
    this.#schedule = schedule
    this.case = given
    this.books = new JointBooks(schedule, START_MS * 1000)
    this.moment = new Moment(this.books, given)
    this.processes = new JointProcesses(place, schedule, this)
    this.#units = new JointUnits(this)
  }

  /** Plays all steps, lets all end, and looks for what is left. */
  async run(): Promise<void> {
    for (const { gapUs, backUs, acts, isLooked } of this.#schedule.steps) {
      await this.#pass(gapUs, backUs)
      await this.#perform(acts)
      if (isLooked && !this.case.isBroken) await this.#look()
      if (this.case.isBroken) return
    }
    await this.#end()
    this.met.reserved = this.#units.reserved
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(
      this.processes.limiters.map((limiter) => answered(limiter.close(), 'the close of a limiter')),
    )
  }

  async #pass(us: number, backUs: number): Promise<void> {
    this.books.pass(us, backUs)
    if (backUs > 0) this.met.back += 1
    this.processes.setClocks()
    this.moment = new Moment(this.books, this.case)
    // Law 9 of those who wait, whatever the store's clock does.
    for (const { dueUs, over } of [...this.#sent]) {
      if (dueUs < this.books.nowUs) await answered(over, 'a request in line')
    }
    await this.processes.idle()
    await this.processes.usePlaces()
    if (this.#sent.size > 0) await this.processes.idle()
  }

  async #perform(acts: readonly JointAct[]): Promise<void> {
    const moment = new Moment(this.books, this.case)
    this.moment = moment
    const asks = acts.flatMap((act) => ('ask' in act ? [act.ask] : []))
    for (const ask of [...asks, ...this.#units.asks]) moment.watch(this.books.linesOf(ask))
    const calls: Promise<void>[] = []
    for (const act of acts) {
      if (act.what === 'turn') for (let left = act.turns; left > 0; left -= 1) await turn()
      else calls.push(this.#do(act))
    }
    await Promise.all(calls)
    await this.processes.idle()
    for (const sent of this.#sent) {
      if (sent.since !== moment) continue
      moment.took(sent.ask, sent.ask.cost, false)
      sent.atOnce = this.books.takeAtOnce(sent.ask, sent.dueUs)
    }
    moment.judge()
    for (const { key, units, worst } of this.books.inForce()) {
      this.case.check(1, units <= worst, () => `${units} units in a window of ${key}, at most ${worst}`)
    }
  }

  async #do(act: JointAct): Promise<void> {
    switch (act.what) {
      case 'consume':
        return this.#consume(act.ask)
      case 'reserve':
        return this.#units.reserve(act.ask, act.forMs)
      case 'end reservation':
        return this.#units.endReservation(act.back, act.units)
      case 'settle':
        return this.#units.settle(act.back, act.cost)
      case 'release':
        return this.#release(act.back)
      case 'leave':
        return [...this.#sent].at(-1 - act.back)?.leaving.abort(new Error('gone'))
      case 'flush scripts':
        this.met.flushes += 1
        await this.#place.flush?.()
    }
  }

  /** Sends a request. Resolves when it is answered, or at once if it may wait. */
  async #consume(ask: JointAsk): Promise<void> {
    const leaving = new AbortController()
    const waits = ask.who.flatMap(({ plan }) => this.#schedule.plans[plan]?.wait ?? [])
    const lines = this.books.linesOf(ask)
    const flight = { ask, lines, sentUs: this.books.nowUs, isSure: true }
    const since = this.moment
    const decided = this.processes
      .of(ask)
      .consume(this.processes.given(ask), { cost: ask.cost, signal: leaving.signal })
    const conclude = (decision: Decision): void => this.#answered(flight, decision, since)
    if (waits.length === 0) return answered(Promise.resolve(decided).then(conclude), 'a request')
    const waiter: Flight = { ...flight, isSure: false }
    const dueUs =
      this.books.nowUs + Math.min(...waits.map(({ maxDelay }) => Number(maxDelay))) * 1000 + SLACK_US
    const left = (error: unknown): void => {
      if (!leaving.signal.aborted) throw error
    }
    const over = (): void => {
      this.#sent.delete(sent)
      this.books.waiters.delete(waiter)
    }
    // Slots of one that did not get in go back, and so do units.
    const untold = (): void => this.books.untold(waiter)
    const givesBack = (): void => {
      if (sent.atOnce) this.books.give(sent.atOnce, ask.cost)
    }
    const sent: Sent = {
      ask,
      leaving,
      dueUs,
      since,
      over: Promise.resolve(decided).then(
        (decision) => {
          over()
          if (!decision.allowed && since !== this.moment) untold()
          if (decision.source !== 'place' || !decision.allowed) givesBack()
          conclude(decision)
        },
        (error: unknown) => {
          over()
          untold()
          givesBack()
          // What left in the moment in which it came may have stood in the way of others.
          if (since === this.moment) since.took(ask, ask.cost, false)
          left(error)
        },
      ),
    }
    this.#sent.add(sent)
    this.books.waiters.add(waiter)
  }

  #answered(flight: Flight, decision: Decision, since: Moment): void {
    const { ask } = flight
    const { allowed, source } = decision
    this.heard(decision)
    if (!allowed) return this.denied(ask, decision, since)
    if (source !== 'store' && source !== 'lease' && source !== 'place') return
    if (source === 'place') this.met.waited += 1
    if (source === 'lease') this.met.leased += 1
    if (source === 'lease') this.books.useLease(ask, ask.cost)
    if (since === this.moment) since.took(ask, ask.cost, source === 'store')
    const charge = this.books.take(ask, ask.cost, source)
    this.#units.remember({ ask, decision, charge })
    if (this.begins(flight)) this.#running.push({ decision, flight })
  }

  /** Law 9: the store, or what it said before, has decided. */
  heard({ allowed, source }: Decision): void {
    this.case.decisions += 1
    if (!allowed) this.case.denials += 1
    const isKnown = allowed
      ? ['store', 'lease', 'place']
      : ['store', 'cache', ...(this.#isClosed ? ['place'] : [])]
    this.case.check(9, isKnown.includes(source), () => `decided by ${source}`)
  }

  denied(ask: JointAsk, decision: Decision, since: Moment): void {
    const flights = this.books.linesOf(ask).filter(({ spec }) => isFlight(spec))
    if (flights.some(({ name }) => decision.violated.includes(name))) this.met.full += 1
    const isRemembered = decision.source === 'cache'
    if (isRemembered) this.met.remembered += 1
    const isUnaware = this.processes.isUnaware(ask)
    // One that waited asked at a time that nobody knows.
    if (since === this.moment && !(isRemembered && isUnaware)) since.denied(ask, decision)
  }

  /** Law 1 of requests in flight: no more run than any of them was let in by. */
  begins(flight: Flight): boolean {
    const lines = flight.lines.filter(({ spec }) => isFlight(spec))
    if (lines.length === 0) return false
    this.books.flights.add(flight)
    for (const line of lines) {
      const running = this.books.running(line)
      const { quota } = line.spec
      this.case.check(1, running <= quota, () => `${running} run of ${line.key}, at most ${quota}`)
    }
    return true
  }

  #release(back: number): void {
    const [one] = this.#running.splice(Math.max(this.#running.length - 1 - back, 0), 1)
    if (!one) return
    const isReleased = one.decision.release()
    this.case.check(11, isReleased && !one.decision.release(), () => 'a slot goes back once')
    this.case.released += 1
    this.books.release(one.flight)
  }

  /** Law 3: both processes are told what the books say, once all that went back was told. */
  async #look(): Promise<void> {
    const asks = this.#schedule.subjects.flatMap((who) =>
      Object.keys(this.#schedule.plans).map((plan, i): JointAsk => {
        const given = { ...who, plan, bringsLimits: plan.startsWith('own') }
        return { place: 'app', who: [given], cost: 1, process: i % PROCESSES }
      }),
    )
    const wrong = async (): Promise<string[]> =>
      (await Promise.all(asks.map((ask) => this.#wrongIn(ask)))).flat()
    let found = await wrong()
    for (
      const until = performance.now() + SETTLES_WITHIN_MS;
      found.length > 0 && performance.now() < until;
    ) {
      await sleep(5)
      found = await wrong()
    }
    for (const law of [2, 3, 7]) this.case.check(law, found.length === 0, () => found.slice(0, 3).join('; '))
    this.books.told()
  }

  async #wrongIn(ask: JointAsk): Promise<string[]> {
    const { limits, source } = await answered(
      this.processes.of(ask).peek(this.processes.given(ask)),
      'a look',
    )
    if (source !== 'store') return [`a look was answered by ${source}`]
    return this.books.linesOf(ask).flatMap((line) => {
      const told = limits.find(({ name }) => name === line.name)
      const { least, most } = this.books.room(line)
      if (told && told.remaining >= least && told.remaining <= most) return []
      return [`${told?.remaining} of ${line.spec.quota} left of ${line.key}, not ${least}..${most}`]
    })
  }

  /** All that is under way ends: nothing of it counts any more, and nothing is kept. */
  async #end(): Promise<void> {
    for (const { leaving } of [...this.#sent].filter((_, i) => i % 2 === 0)) leaving.abort(new Error('gone'))
    for (let left = this.#running.length; left > 0; left -= 1) this.#release(0)
    const pauses = Math.ceil((700 + SLACK_US / 1000) / 40) + 1
    for (let left = pauses; left > 0 && this.#sent.size > 0; left -= 1) await this.#pass(40_000, 0)
    for (const { over } of this.#sent) await answered(over, 'a request in line')
    for (let left = this.#running.length; left > 0; left -= 1) this.#release(0)
    await this.#units.endAll()
    await this.#look()
    if (this.case.isBroken) return
    const longestUs = (2 * this.#schedule.longestWindowMs + 1000) * 1000 + this.books.backUs
    await this.#pass(longestUs, 0)
    await this.#looksUnused()
    await this.close()
    const kept = (await this.#place.leftBehind?.(longestUs / 1000)) ?? []
    this.case.check(8, kept.length === 0, () => `is kept of what no longer counts: ${kept.join()}`)
  }

  /** Law 8: everything is free, and no process holds anything. */
  async #looksUnused(): Promise<void> {
    for (
      const until = performance.now() + SETTLES_WITHIN_MS;
      !this.processes.isQuiet && performance.now() < until;
    )
      await sleep(2)
    const stats = (): string => JSON.stringify(this.processes.limiters.map((limiter) => limiter.stats()))
    this.case.check(8, this.processes.isQuiet, () => `still held: ${stats()}`)
    await this.#look()
  }
}
