export interface WorldOptions {
  /** How many requests may run at a time. */
  readonly quota: number
  /** Whether a request asks for a slot of one key, of two in one step, or of two in two steps. */
  readonly asks: 'one key' | 'two keys' | 'two steps'
  /** The most requests of a process that are being decided. */
  readonly most: number
  /** Whether messages wait before they are sent, with the numbers of then. */
  readonly queues?: boolean | undefined
  /** Whether the store takes nothing of what a request tells that it denies. It may do so, or not. */
  readonly forgetsDenied?: boolean | undefined
  /** Processes whose messages arrive at once, and their answers: fewer things can happen then. */
  readonly atOnce?: readonly number[] | undefined
  /** How many unlikely things may happen. */
  readonly rare: number
  /** Which of them; default: all. */
  readonly kinds?: readonly Rare[] | undefined
  /** Breaks one rule on purpose. */
  readonly flaw?: Flaw | undefined
}

/**
 * - `let` and `refuse`: the deadline of a message passes; its request is let in by the failure policy, or refused. The store may
 *   still take the message.
 * - `lose`, `unheard`: a message, or the answer to one, is lost.
 * - `again`: the client sends a message again whose answer it did not get.
 * - `pause`: a process stands still, until it goes on.
 * - `down`: a process does not ask the store, until that answers again.
 * - `flush`: the store loses its data. `forward`, `backward`: its clock steps.
 */
export const RARE = [
  ...['let', 'refuse', 'lose', 'unheard', 'again', 'crash', 'pause', 'down'],
  ...['flush', 'reset', 'forward', 'backward'],
] as const
export type Rare = (typeof RARE)[number]

/** Rules that tests break, to see that the checker notices. */
export type Flaw =
  | 'tells the highest number in place of how many'
  | 'tells of one less than it holds'
  | 'hears nothing that is late'
  | 'loses its releases'
  | 'renews nothing'
  | 'lets one more in'
  | 'keeps what nobody needs'
