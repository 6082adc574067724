// The load of a cell: closed loops, each of which sends its next request when it has got its last answer, and an open
// one, which sends by the clock.

/** A loop ends after this many decisions, if its time is not over before. */
const MOST_DECISIONS = 2_000_000
export const SUBJECTS = 10_000
const ids = Array.from({ length: SUBJECTS }, (_, i) => `user-${i}`)
const POLL_EVERY = 16

/**
 * Which subjects the requests of a cell come from, and which share of them must be denied, or the cell means nothing:
 * `[least, most]`.
 */
export const MODES = {
  allowed: { idOf: () => (i) => ids[i % SUBJECTS], denied: [0, 0] },
  flood: { idOf: (hot) => () => hot, denied: [0.9, 1] },
  half: { idOf: (hot) => (i) => (i % 2 ? hot : ids[(i >> 1) % SUBJECTS]), denied: [0.4, 0.6] },
}

/** Asks once. @returns whether the request may pass */
async function ask({ decide, allowed }, id) {
  try {
    return allowed(await decide(id), false)
  } catch (error) {
    return allowed(error, true)
  }
}

/**
 * Keeps `inFlight` requests pending for `ms`.
 *
 * @param {import('./contenders.mjs').Contender} contender
 * @param {(i: number) => string} idOf the subject of the i-th request
 * @returns `{ decisions, denied }`
 * @throws when an answer is no decision of the store
 */
export async function closedLoop(contender, idOf, { inFlight, ms }) {
  const until = performance.now() + ms
  const { decide, allowed } = contender
  let sent = 0
  let denied = 0
  const loop = async () => {
    // The clock is not read for each request, since a decision in memory costs little more than that.
    while ((sent % POLL_EVERY !== 0 || performance.now() < until) && sent < MOST_DECISIONS) {
      // Not by `ask`: another promise a request would bring fast contenders nearer to each other.
      let isAllowed
      try {
        isAllowed = allowed(await decide(idOf(sent++)), false)
      } catch (error) {
        isAllowed = allowed(error, true)
      }
      if (!isAllowed) denied += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, loop))
  return { decisions: sent, denied }
}

/** Makes requests of one subject until it is denied. */
export async function useUp(contender, id, most) {
  for (let sent = 0; sent <= most; sent += 64) {
    const answers = await Promise.all(Array.from({ length: 64 }, () => ask(contender, id)))
    if (answers.includes(false)) return
  }
  throw new Error(`${id} was never denied`)
}

/** With fewer, the machine stood still for most of the time, and the share says nothing. */
const FEWEST_TO_JUDGE = 2000

/** @throws when more or fewer requests were denied than the mode says */
export function checkDenied(mode, { decisions, denied }) {
  if (decisions < FEWEST_TO_JUDGE) return
  const [least, most] = MODES[mode].denied
  const share = denied / decisions
  if (share < least || share > most)
    throw new Error(`${denied} of ${decisions} requests denied in the mode ${mode}`)
}

/**
 * Sends `rate` requests a second for `ms`, whatever the answers do.
 *
 * @returns the ms from when each request was due until its answer, so a sender that falls behind shows, too
 */
export async function openLoop(contender, { rate, ms }) {
  const total = Math.round((rate * ms) / 1000)
  const delays = []
  const pending = []
  const start = performance.now()
  const send = async (i) => {
    const due = start + (i * 1000) / rate
    if (!(await ask(contender, ids[i % SUBJECTS]))) throw new Error('A request was denied')
    delays.push(performance.now() - due)
  }
  for (let i = 0; i < total;) {
    const due = ((performance.now() - start) * rate) / 1000
    for (; i < total && i <= due; i += 1) pending.push(send(i))
    // Not a timer: those fire up to a millisecond late.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(pending)
  return delays
}
