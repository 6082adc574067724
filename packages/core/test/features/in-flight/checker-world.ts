// Two processes, a store and what is under way between them: what can happen next, and what must hold after it.
import { Violation, type CheckedWorld } from '../../support/checker.js'
import { Network, type Message } from './checker-network.js'
import { RARE, type Rare, type WorldOptions } from './checker-options.js'
import { CheckedProcess } from './checker-process.js'
import { CheckedStore, KEYS } from './checker-store.js'
import { Trust } from './checker-trust.js'

/** A step of the time, and how many of them take longer than a store keeps the slots of a process that tells nothing. */
const TICK_MS = 5000
const KEPT_TICKS = 3
const SECOND_MS = 1000
/** Longer than what is to be told soon waits. */
const SOON_MS = 10
const PROCESSES = [0, 1]
/** More than it ever takes until nothing is under way any more. */
const MOST_ROUNDS = 300

export class World implements CheckedWorld {
  readonly #options: WorldOptions
  readonly #store: CheckedStore
  readonly #network: Network
  readonly #trust: Trust
  readonly #processes: readonly CheckedProcess[]
  #rareLeft: number

  constructor(options: WorldOptions) {
    this.#options = options
    this.#rareLeft = options.rare
    this.#store = new CheckedStore(options.forgetsDenied === true)
    this.#network = new Network(this.#store, options.flaw)
    this.#processes = PROCESSES.map((i) => new CheckedProcess(i, options, (message) => this.#post(message)))
    this.#trust = new Trust(this.#processes, this.#network, this.#store)
  }

  actions(): string[] {
    const { kinds = RARE, most } = this.#options
    const { queued, underWay, answers, awaited } = this.#network
    const acting = this.#processes.filter(({ isPaused }) => !isPaused)
    const of = (what: string, which: readonly CheckedProcess[]): string[] =>
      which.map(({ number }) => `${what} ${number}`)
    const common = [
      ...of(
        'ask',
        acting.filter(({ undecided }) => undecided < most),
      ),
      ...of(
        'release',
        acting.filter(({ running }) => running.length > 0),
      ),
      ...of(
        'turn',
        acting.filter(({ timers }) => timers.isDue(SOON_MS)),
      ),
      ...of(
        'on',
        this.#processes.filter(({ isPaused }) => isPaused),
      ),
      ...of(
        'up',
        acting.filter(({ isDown, isRecovering }) => isDown && !isRecovering),
      ),
      ...of(
        'send',
        acting.filter((process) => queued.some(({ by }) => by === process)),
      ),
      ...underWay.map((_, i) => `deliver ${i}`),
      ...answers.flatMap(({ message }, i) => (message.by.isPaused ? [] : [`hear ${i}`])),
      // A deadline is shorter than that.
      ...(awaited.some(({ by }) => !by.isPaused) ? [] : ['tick']),
    ]
    return this.#rareLeft > 0 ? [...common, ...kinds.flatMap((kind) => this.#rare(kind))] : common
  }

  do(action: string): boolean {
    const [what = '', which = '0'] = action.split(' ')
    const isRare = (RARE as readonly string[]).includes(what)
    if (isRare) this.#rareLeft -= 1
    const i = Number(which)
    const wasThere = isRare ? this.#happensRarely(what as Rare, i) : this.#happens(what, i)
    const { atOnce = [] } = this.#options
    this.#hurry(({ by }) => atOnce.includes(by.number) && !by.isPaused)
    return wasThere
  }

  judge(): void {
    for (const key of KEYS) {
      let running = 0
      for (const process of this.#processes) {
        const live = this.#network.live(process, key)
        running += live
        const held = this.#store.heldBy(process.holder, key)
        if (held < live && !this.#trust.isLost(process, key))
          throw new Violation('law 1', `process ${process.number} runs ${live}, and the store counts ${held}`)
      }
      const { quota } = this.#options
      if (running > quota && !this.#trust.wasLost)
        throw new Violation('law 1', `${running} run or will, of ${quota}`)
    }
  }

  text(): string {
    const { queued, underWay, answers } = this.#network
    const numbers = this.#processes.map((process) => process.numbers)
    const told = ({ requests, ask, by, life, isAwaited }: Message): unknown => {
      const parts = requests.flatMap(({ grant, parts: all }) =>
        all.map(({ key, slots }) => [
          grant,
          key,
          slots?.held,
          (slots?.known ?? 0) - (numbers[by.number]?.[key] ?? 0),
        ]),
      )
      return [by.number, by.life - life, isAwaited, ask && by.asks.indexOf(ask), parts]
    }
    const rows = KEYS.map((key) =>
      this.#store.rows(key).map(({ id, held, number, endsInMs }) => {
        const own = this.#processes.find(({ holder }) => holder === id)
        return [own?.number, held, own && number - (numbers[own.number]?.[key] ?? 0), endsInMs]
      }),
    )
    const heard = answers.map(({ message, outcomes }) => {
      const limits = outcomes.flatMap((outcome, i) =>
        outcome.limits.map(({ wait, slot = 0 }, j) => {
          const key = message.requests[i]?.parts[j]?.key ?? ''
          return [wait > 0, slot - (numbers[message.by.number]?.[key] ?? 0)]
        }),
      )
      return [told(message), limits]
    })
    const canRepeat = this.#rareLeft > 0 && this.#network.delivered
    return JSON.stringify([
      ...[
        this.#processes.map((process) => process.state()),
        queued.map(told),
        underWay.map(told),
        heard,
        rows,
      ],
      ...[this.#rareLeft, canRepeat && told(canRepeat), this.#trust.state()],
    ])
  }

  end(): void {
    for (const process of this.#processes) if (process.isPaused) process.goOn()
    this.#settle()
    this.#judgeCounts((process) => this.#trust.isSound(process))
    this.#tick()
    this.#settle()
    this.#judgeCounts((process) => this.#trust.isSoonSound(process))
    // What was lost is told again by then, and what nobody heard of has ended.
    for (let i = 0; i < KEPT_TICKS; i += 1) this.#tick()
    this.#settle()
    this.#judgeCounts(() => true)
    for (const process of this.#processes) while (process.running.length > 0) process.release()
    this.#settle()
    this.#judgeCounts(() => true)
    for (const { number, inFlight } of this.#processes)
      if (inFlight.keys.size > 0)
        throw new Violation('law 8', `process ${number} remembers ${inFlight.keys.size} keys`)
    const left = this.#store.left(this.#options.flaw === 'keeps what nobody needs')
    if (left > 0) throw new Violation('law 8', `${left} subjects are left behind`)
  }

  /** What must be exact where everything that was sent has arrived and was answered. */
  #judgeCounts(isJudged: (process: CheckedProcess) => boolean): void {
    for (const key of KEYS) {
      for (const process of this.#processes.filter(isJudged)) {
        const held = this.#store.heldBy(process.holder, key)
        const running = process.running.filter(({ keys }) => keys.includes(key)).length
        if (held !== running)
          throw new Violation(
            'a leak',
            `process ${process.number} runs ${running}, and the store counts ${held}`,
          )
      }
    }
  }

  /** Lets everything arrive that is under way, and be heard, until nothing more is sent. */
  #settle(): void {
    const network = this.#network
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const [queued] = network.queued
      const [awaited] = network.awaited
      const down = this.#processes.find(({ isDown, isRecovering }) => isDown && !isRecovering)
      if (queued) network.send(queued)
      else if (network.underWay.length > 0) this.#deliver(0)
      else if (network.answers.length > 0) network.hear(0)
      else if (awaited) awaited.by.fail(awaited, false)
      else if (down) down.up()
      else if (this.#processes.some(({ timers }) => timers.isDue(SOON_MS)))
        for (const process of this.#processes) process.pass(SOON_MS)
      else return
    }
    throw new Violation('law 9', 'messages never end')
  }

  #rare(kind: Rare): string[] {
    const each = (which: readonly unknown[]): string[] => which.map((_, i) => `${kind} ${i}`)
    const of = (which: readonly CheckedProcess[]): string[] => which.map(({ number }) => `${kind} ${number}`)
    const acting = this.#processes.filter(({ isPaused }) => !isPaused)
    if (kind === 'let' || kind === 'refuse')
      return each(this.#network.awaited).filter((_, i) => !this.#network.awaited[i]?.by.isPaused)
    if (kind === 'lose') return each(this.#network.underWay)
    if (kind === 'unheard') return each(this.#network.answers)
    if (kind === 'again') return this.#network.delivered ? [kind] : []
    if (kind === 'crash') return of(this.#processes)
    if (kind === 'pause' || kind === 'reset') return of(acting)
    if (kind === 'down') return of(acting.filter(({ isDown }) => !isDown))
    return [kind]
  }

  #happens(what: string, i: number): boolean {
    const process = this.#processes[i] as CheckedProcess
    if (what === 'ask') process.ask()
    else if (what === 'release') process.release()
    else if (what === 'turn') process.pass(SOON_MS)
    else if (what === 'on') process.goOn()
    else if (what === 'up') process.up()
    else if (what === 'send')
      this.#network.send(this.#network.queued.find(({ by }) => by === process) as Message)
    else if (what === 'deliver') this.#deliver(i)
    else if (what === 'hear') this.#network.hear(i)
    else if (what === 'tick') this.#tick()
    else throw new Error(`nobody knows ${what}`)
    return true
  }

  #happensRarely(kind: Rare, i: number): boolean {
    const process = this.#processes[i] as CheckedProcess
    const { awaited, underWay, answers } = this.#network
    if (kind === 'let' || kind === 'refuse') {
      const message = awaited[i] as Message
      this.#trust.delay(message.by)
      message.by.fail(message, kind === 'let')
    } else if (kind === 'lose') this.#trust.blur((underWay.splice(i, 1)[0] as Message).by)
    else if (kind === 'unheard') this.#trust.blur(answers.splice(i, 1)[0]?.message.by as CheckedProcess)
    else if (kind === 'again') {
      const message = this.#network.again()
      if (message) this.#trust.blur(message.by)
      return message !== undefined
    } else if (kind === 'crash') {
      process.crash()
      this.#network.forget(process)
    } else if (kind === 'pause') process.isPaused = true
    else if (kind === 'down') {
      process.isDown = true
      this.#trust.down(process)
    } else if (kind === 'backward') this.#store.pass(-2 * TICK_MS)
    else this.#trust.lose(() => this.#store.lose(kind === 'forward' ? KEPT_TICKS * TICK_MS : undefined))
    if (kind === 'reset') process.reset()
    return true
  }

  #post(message: Message): void {
    this.#network.queue(message)
    if (!this.#options.queues) this.#network.send(message)
  }

  /** Lets some messages arrive, and their answers. */
  #hurry(isFast: (message: Message) => boolean): void {
    const network = this.#network
    for (;;) {
      const queued = network.queued.find(isFast)
      const underWay = network.underWay.findIndex(isFast)
      const answer = network.answers.findIndex(({ message }) => isFast(message))
      if (queued) network.send(queued)
      else if (underWay >= 0) this.#deliver(underWay)
      else if (answer >= 0) network.hear(answer)
      else return
    }
  }

  #deliver(i: number): void {
    const message = this.#network.deliver(i)
    if (message) this.#trust.delivered(message)
  }

  /** Time passes. What is sent meanwhile arrives in time. */
  #tick(): void {
    for (let ms = 0; ms < TICK_MS; ms += SECOND_MS) {
      this.#trust.pass(SECOND_MS)
      for (const process of this.#processes) process.pass(SECOND_MS)
      this.#hurry(({ by, isAwaited }) => isAwaited && !by.isPaused)
    }
  }
}
