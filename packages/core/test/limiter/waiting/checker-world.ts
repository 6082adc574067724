// Some processes whose requests wait in line, a store and what is under way between them: what can happen next, and what must hold
// after it.
import { setImmediate } from 'node:timers/promises'
import { renamed } from '../../support/aged-times.js'
import { Violation, type SlowWorld } from '../../support/checker.js'
import { History, round, type Use } from './checker-history.js'
import { Network } from './checker-network.js'
import { DEADLINE_MS, RARE, TICK_MS, type Rare, type WorldOptions } from './checker-options.js'
import {
  CheckedProcess,
  type Admission,
  type Place,
  type Surroundings,
  type Visit,
} from './checker-process.js'
import { CheckedStore, partOf } from './checker-store.js'

const HOUR_MS = 3_600_000
/** How far a clock steps that is off by a little. */
const STEP_MS = 3 * TICK_MS
/** What a request can ask of the store one after another: a place, the ways of its units back, and another answer. */
const CALLS = 4
/** The most requests of a process at a time: more would hide what few can do. */
const MOST = 3
/** Until all is over. */
const MOST_TICKS = 200
/** Longer than anything lasts, in ms. */
const LONG_MS = 5000
/** Times are rounded to µs. */
const ROUNDING_MS = 0.002

export class WaitingWorld implements SlowWorld {
  readonly #options: WorldOptions
  readonly #store = new CheckedStore()
  readonly #network: Network
  readonly #history: History
  readonly #surroundings: Surroundings
  #processes: readonly CheckedProcess[]
  #nowMs = 0
  #rareLeft: number
  #ids = 0
  #timers = 0
  /** How often the store's clock stepped, and how often it had when a place was booked, by its id. */
  #steps = 0
  readonly #stepsBefore = new Map<string, number>()
  /** When the store last lost what it had counted: law 1 excepts what it decided before. */
  #lostAtMs = -1
  readonly #uses = new Map<Visit, Use>()
  /** Whether a message was lost: it is repeated, but later. */
  #hasLost = false

  constructor(options: WorldOptions) {
    this.#options = options
    this.#rareLeft = options.rare
    this.#network = new Network(this.#store, options.flaw, (name) => this.#processOf(name) !== undefined)
    this.#history = new History(options.set)
    this.#surroundings = {
      set: options.set,
      now: () => this.#nowMs,
      newId: () => this.#newId(),
      post: (message) => this.#network.post(message),
      admitted: (process, admission) => this.#admitted(process, admission),
      forgetsTimer: () => options.flaw === 'forgets its timers' && (this.#timers += 1) % 3 === 0,
    }
    const names = Array.from({ length: options.processes }, (_, i) => `${i}a`)
    this.#processes = names.map((name) => new CheckedProcess(name, this.#surroundings))
  }

  actions(): string[] {
    const { kinds = RARE } = this.#options
    const { underWay, answers } = this.#network
    const of = (what: string, can: (process: CheckedProcess) => boolean): string[] =>
      this.#processes.flatMap((process, i) => (can(process) ? [`${what} ${i}`] : []))
    const common = [
      'tick',
      ...of('visit', ({ isPaused, visits }) => !isPaused && visits.length < MOST),
      ...of('join', ({ isPaused, visits }) => !isPaused && visits.length < MOST),
      ...of('leave', ({ isPaused, visits }) => !isPaused && visits.length > 0),
      ...of('resume', ({ isPaused }) => isPaused),
      ...underWay.map((_, i) => `deliver ${i}`),
      ...answers.flatMap(({ message }, i) => (this.#processOf(message.by)?.isPaused ? [] : [`hear ${i}`])),
    ]
    return this.#rareLeft > 0 ? [...common, ...kinds.flatMap((kind) => this.#rare(kind))] : common
  }

  async do(action: string): Promise<boolean> {
    const [what = '', which = '0'] = action.split(' ')
    if ((RARE as readonly string[]).includes(what)) this.#rareLeft -= 1
    const happened = await this.#happens(what, Number(which))
    await setImmediate()
    return happened
  }

  judge(): void {
    const over = this.#history.over()
    if (over) throw new Violation('law 1', over)
    for (const process of this.#processes) {
      const { counts, room, visits } = process
      const { booked, admitted, left, late, closed } = counts
      if (booked - admitted - left - late - closed !== room.stats().now)
        throw new Violation('counts', `${room.stats().now} wait of ${JSON.stringify(counts)}`)
      if (room.seated !== visits.length)
        throw new Violation('counts', `${room.seated} seats for ${visits.length} requests`)
      for (const { place } of process.waiting) this.#judgePlace(place)
      if (!process.isPaused) for (const visit of visits) this.#judgeEnd(visit, process.pausedUntilMs)
    }
  }

  text(): string {
    const steps = this.#processes
      .flatMap(({ waiting }) => waiting)
      .map(({ place: { id, decidedAtMs } }) => [this.#stepsSince(id), decidedAtMs > this.#lostAtMs])
    const whole = JSON.stringify([
      this.#store.text(this.#options.set),
      this.#history.text(this.#nowMs),
      this.#processes.map((process) => process.text(this.#nowMs)),
      this.#network.text(this.#nowMs),
      steps,
      this.#rareLeft,
    ])
    return renamed(whole)
  }

  /** Nothing more comes, and nothing is lost: all are answered, and nothing is left behind. */
  async end(): Promise<void> {
    const { set, flaw } = this.#options
    for (const [i, { isPaused }] of this.#processes.entries()) if (isPaused) await this.do(`resume ${i}`)
    await this.#drain()
    this.#judgeLeft()
    for (let ticks = 0; this.#isBusy(); ticks += 1) {
      if (ticks === MOST_TICKS) throw new Violation('an end', 'some are never answered')
      await this.do('tick')
      await this.#drain()
    }
    // A clock that went back far is noticed by a request.
    for (let i = 0; i < 2; i += 1) {
      this.#store.consume({ shard: 0, grant: 'all', parts: [partOf(set)] })
      this.#pass(LONG_MS)
    }
    const held = this.#store.held(set)
    if (held > 0) throw new Violation('units back', `${held} units are held, and nobody waits`)
    if (this.#store.leftInTheEnd(set, flaw === 'time stands still in the end') > 0)
      throw new Violation('law 8', 'the subject is left behind')
  }

  /** All that is under way arrives, and is heard. */
  async #drain(): Promise<void> {
    const { underWay, answers } = this.#network
    while (underWay.length + answers.length > 0) await this.do(underWay.length > 0 ? 'deliver 0' : 'hear 0')
    this.judge()
  }

  /** What those had who left is free. */
  #judgeLeft(): void {
    if (this.#hasLost) return
    for (const { id, endMs, decidedAtMs } of this.#processes.flatMap(({ left }) => left)) {
      const isGone = this.#nowMs >= endMs || decidedAtMs <= this.#lostAtMs
      if (!isGone && this.#store.delayOf(this.#options.set, id) !== undefined)
        throw new Violation('units back', `${id} is held, and its request has left`)
    }
  }

  #isBusy(): boolean {
    const { underWay, answers } = this.#network
    const isBusy = (process: CheckedProcess): boolean =>
      process.visits.length > 0 || process.nextMs() < Infinity
    return underWay.length + answers.length > 0 || this.#processes.some(isBusy)
  }

  #processOf(name: string): CheckedProcess | undefined {
    return this.#processes.find((process) => process.name === name)
  }

  #newId(): string {
    return `lease-0-${(this.#ids += 1)}`.padEnd(12, '_')
  }

  #stepsSince(id: string): number {
    return this.#steps - (this.#stepsBefore.get(id) ?? 0)
  }

  #rare(kind: Rare): string[] {
    const of = (can: (process: CheckedProcess) => boolean): string[] =>
      this.#processes.flatMap((process, i) => (can(process) ? [`${kind} ${i}`] : []))
    if (kind === 'crash') return of(() => true)
    if (kind === 'pause') return of(({ isPaused }) => !isPaused)
    if (kind === 'close') return of(({ isPaused, isClosed }) => !isPaused && !isClosed)
    if (kind === 'refund') return of(({ isPaused, newest }) => !isPaused && newest !== undefined)
    if (kind === 'lose') return this.#network.underWay.map((_, i) => `lose ${i}`)
    if (kind === 'mute') return this.#network.answers.map((_, i) => `mute ${i}`)
    if (kind === 'again') return this.#network.canRepeat ? [kind] : []
    return [kind]
  }

  async #happens(what: string, i: number): Promise<boolean> {
    const process = this.#processes[i] as CheckedProcess
    const network = this.#network
    if (what === 'tick') await this.#tick()
    else if (what === 'join') return process.join()
    else if (what === 'visit')
      return process.join() && this.#deliver(network.underWay.length - 1) && this.#hearLast()
    else if (what === 'deliver') return this.#deliver(i)
    else if (what === 'hear') return network.hear(i, this.#nowMs)
    else if (what === 'again') return network.again(() => this.#store.text(this.#options.set))
    else if (what === 'lose') this.#hasLost = network.underWay.splice(i, 1).length > 0
    else if (what === 'mute') this.#hasLost = network.answers.splice(i, 1).length > 0
    else if (what === 'leave') process.visits.at(-1)?.leaving.abort(new Error('gone'))
    else if (what === 'pause') process.isPaused = true
    else if (what === 'resume') this.#resume(process)
    else if (what === 'crash') this.#crash(i)
    else if (what === 'close') process.close()
    else if (what === 'refund') this.#refund(process)
    else this.#change(what)
    return true
  }

  #deliver(i: number): boolean {
    const id = this.#network.underWay[i]?.request?.hold?.id
    if (id !== undefined) this.#stepsBefore.set(id, this.#steps)
    return this.#network.deliver(i, this.#nowMs)
  }

  #hearLast(): boolean {
    return this.#network.hear(this.#network.answers.length - 1, this.#nowMs)
  }

  /** The time goes on. Each process that is not paused acts when it has to. */
  async #tick(): Promise<void> {
    const endMs = this.#nowMs + TICK_MS
    const awake = this.#processes.filter(({ isPaused }) => !isPaused)
    for (;;) {
      const nextMs = Math.max(Math.min(...awake.map((process) => process.nextMs())), this.#nowMs)
      if (nextMs > endMs) break
      this.#pass(nextMs - this.#nowMs)
      for (const process of awake) process.act()
      await setImmediate()
      this.judge()
    }
    this.#pass(endMs - this.#nowMs)
  }

  #pass(ms: number): void {
    this.#nowMs = round(this.#nowMs + ms)
    this.#store.at(this.#nowMs)
  }

  #resume(process: CheckedProcess): void {
    process.isPaused = false
    process.pausedUntilMs = this.#nowMs
    process.act()
  }

  /** It is gone, and another begins. */
  #crash(i: number): void {
    const { name } = this.#processes[i] as CheckedProcess
    this.#network.forget(name)
    const next = `${i}${String.fromCharCode(name.charCodeAt(1) + 1)}`
    this.#processes = this.#processes.with(i, new CheckedProcess(next, this.#surroundings))
  }

  #refund(process: CheckedProcess): void {
    const use = process.newest && this.#uses.get(process.newest.visit)
    if (use) this.#history.undo(use)
    process.refund()
  }

  #change(what: string): void {
    this.#steps += 1
    if (what === 'back') return this.#store.step(-STEP_MS)
    if (what === 'hour') return this.#store.step(-HOUR_MS)
    if (what === 'forward') this.#store.step(STEP_MS)
    else this.#store.flush()
    this.#lostAtMs = this.#nowMs
    this.#history.lose()
  }

  #admitted(process: CheckedProcess, { visit, decidedAtMs, place }: Admission): void {
    if (place) this.#judgeAdmission(process, place)
    if (decidedAtMs > this.#lostAtMs)
      this.#uses.set(visit, this.#history.use(place ? this.#nowMs : decidedAtMs))
  }

  /** Between the time and the end of its place, and not before those who are to go first. */
  #judgeAdmission(process: CheckedProcess, { id, timeMs, endMs, dueUs, wakeMs, latestMs }: Place): void {
    if (this.#nowMs < timeMs - ROUNDING_MS || this.#nowMs > endMs + ROUNDING_MS)
      throw new Violation('its time', `admitted at ${this.#nowMs}, of a place from ${timeMs} to ${endMs}`)
    const canWait = this.#nowMs < (wakeMs + latestMs) / 2 - 1
    for (const { place: other } of process.waiting) {
      const isEarlier = this.#stepsSince(other.id) === this.#stepsSince(id) && other.dueUs < dueUs
      if (isEarlier && (other.wakeMs <= this.#nowMs || canWait))
        throw new Violation('in order', `${id} goes before ${other.id}, whose place is earlier`)
    }
  }

  /** A place that a process waits for is in the store, and never moves. */
  #judgePlace({ id, decidedAtMs, timeMs, endMs }: Place): void {
    if (this.#nowMs >= endMs - ROUNDING_MS || decidedAtMs <= this.#lostAtMs) return
    const leftMs = Math.max(timeMs - this.#nowMs, 0)
    const foundMs = this.#store.delayOf(this.#options.set, id)
    // Where the store's clock went back, it takes the place for later than it is.
    const isLater = this.#stepsSince(id) > 0 && foundMs !== undefined && foundMs > leftMs
    if (foundMs === undefined || (!isLater && Math.abs(foundMs - leftMs) > ROUNDING_MS))
      throw new Violation('a place', `${id} has its time in ${leftMs} ms, and in ${foundMs} by the store`)
  }

  /** Everybody is answered by an end that no clock but this process's says. */
  #judgeEnd({ joinedAtMs, place }: Visit, pausedUntilMs: number): void {
    const { delayUs = 0, slackUs = 0 } = this.#options.set.wait ?? {}
    const lastMs = Math.max(joinedAtMs, pausedUntilMs) + (delayUs + slackUs) / 1000 + CALLS * DEADLINE_MS
    const placeEndMs = place ? Math.max(place.wakeMs, place.latestMs, pausedUntilMs) : Infinity
    if (this.#nowMs > Math.min(lastMs, placeEndMs) + 1)
      throw new Violation('an end', `not answered ${round(this.#nowMs - joinedAtMs)} ms after it came`)
  }
}
