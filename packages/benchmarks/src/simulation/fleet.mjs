// Many processes and the store that they share. Leases, denials from memory and the store are Tollgate's own; the network
// and the time are made up.

/** From a process to the store or back, in ms: at least, and on average beyond that. */
const TRIP = { least: 0.2, more: 0.2 }
const DEADLINE_MS = 250
/** Requests of a process within this time, in ms, travel together. */
const BATCH_MS = 1

export class Fleet {
  commands = 0
  renewals = 0
  /** Units that processes held when they crashed. */
  lostToCrashes = 0
  #clock
  #random
  #tollgate
  #store
  #processes
  #onServed

  /** @param onServed is called with `(tenant, process, isAllowed, isLeased)` for every request that was answered */
  constructor({ clock, random, tollgate, processes, onServed }) {
    this.#clock = clock
    this.#random = random
    this.#tollgate = tollgate
    this.#onServed = onServed
    this.#store = new tollgate.ProcessStore(1_000_000, () => 1_770_000_000_000 + clock.now)
    this.#processes = Array.from({ length: processes }, () => this.#start())
  }

  /** A tenant asks a process for a unit. */
  ask(tenant, number) {
    const process = this.#processes[number]
    const verdict = process.features.answer(tenant.request, false)
    if (verdict) {
      if (verdict.source === 'lease') process.held -= 1
      return this.#onServed(tenant, number, verdict.allowed, verdict.source === 'lease')
    }
    this.#send(process, tenant.request, (outcome) => {
      process.features.learn(tenant.request, outcome, 0, false)
      const isAllowed = outcome.limits.every(({ wait }) => wait === 0)
      this.#onServed(tenant, number, isAllowed, false)
    })
  }

  /** The process ends without a word, and another begins in its place. */
  crash(number) {
    this.lostToCrashes += this.#processes[number].held
    this.#processes[number].isOver = true
    this.#processes[number] = this.#start()
  }

  /** Ends all of them. */
  end() {
    for (const process of this.#processes) process.isOver = true
  }

  #start() {
    const { Features, Leases, Denials, newLeaseId } = this.#tollgate
    const now = () => this.#clock.now
    const process = { held: 0, isOver: false, waiting: [] }
    const emit = (event, { kind, units }) => {
      if (kind === 'granted') process.held += units
      if (kind === 'returned' || kind === 'lost') process.held -= units
    }
    const send = (request, onAnswer) => {
      this.renewals += 1
      this.#send(process, request, onAnswer)
    }
    process.features = new Features([
      new Leases({ send, emit }, newLeaseId, now),
      new Denials({ deadlineMs: DEADLINE_MS, clock: now }),
    ])
    return process
  }

  #send(process, request, onAnswer) {
    process.waiting.push({ request, onAnswer })
    if (process.waiting.length > 1) return
    this.#clock.after(BATCH_MS, () => {
      const batch = process.waiting
      process.waiting = []
      if (!process.isOver) this.#clock.after(this.#trip(), () => this.#decide(process, batch))
    })
  }

  #decide(process, batch) {
    this.commands += 1
    const outcomes = this.#store.consume(batch.map(({ request }) => request))
    this.#clock.after(this.#trip(), () => {
      if (process.isOver) return
      for (const [i, { onAnswer }] of batch.entries()) onAnswer(outcomes[i])
    })
  }

  #trip() {
    return TRIP.least - TRIP.more * Math.log(1 - this.#random())
  }
}
