// A time that passes only when all that is due has been done, and the timers of Tollgate on it.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'

/** Events in the order of their time, then of their making: a binary heap. */
export class SimulatedClock {
  /** In ms. */
  now = 0
  #heap = []
  #made = 0

  /** @returns the event, for `cancel` */
  at(time, work) {
    const event = { time: Math.max(time, this.now), number: (this.#made += 1), work }
    const heap = this.#heap
    let i = heap.push(event) - 1
    for (let up = (i - 1) >> 1; i > 0 && isBefore(event, heap[up]); up = (i - 1) >> 1) {
      heap[i] = heap[up]
      i = up
    }
    heap[i] = event
    return event
  }

  after(ms, work) {
    return this.at(this.now + ms, work)
  }

  cancel(event) {
    if (event) event.work = undefined
  }

  /** Does what is due until this time, which it then is. */
  runUntil(time) {
    while (this.#heap.length > 0 && this.#heap[0].time <= time) {
      const { time: due, work } = this.#pop()
      this.now = due
      work?.()
    }
    this.now = time
  }

  /** From now on, modules that are loaded get timers on this clock. */
  takeTimers() {
    timers.setTimeout = (work, ms) => {
      const event = this.after(ms, work)
      return Object.assign(event, { unref: () => event, ref: () => event })
    }
    timers.clearTimeout = (event) => this.cancel(event)
    syncBuiltinESMExports()
  }

  #pop() {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0) return first
    let i = 0
    for (;;) {
      let least = 2 * i + 1
      if (least + 1 < heap.length && isBefore(heap[least + 1], heap[least])) least += 1
      if (least >= heap.length || !isBefore(heap[least], last)) break
      heap[i] = heap[least]
      i = least
    }
    heap[i] = last
    return first
  }
}

const isBefore = (a, b) => a.time < b.time || (a.time === b.time && a.number < b.number)
