import { setImmediate } from '../../base/timers.js'

/** After so many answers without I/O, one waits for a turn of the event loop. */
const ANSWERS_A_TURN = 256

/**
 * Makes promises of answers that are known at once. Now and then one waits for the event loop to go round: else a caller
 * that asks again and again, such as `while (!(await limiter.consume(id)).allowed)`, would hold up all timers and sockets.
 */
export class Turns {
  #answers = 0

  resolved<T>(answer: T): Promise<T> {
    this.#answers += 1
    if (this.#answers % ANSWERS_A_TURN !== 0) return Promise.resolve(answer)
    return new Promise((resolve) => void setImmediate(() => resolve(answer)))
  }
}
