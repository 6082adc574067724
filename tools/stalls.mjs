// Notices when the machine stands still. A test that counts in real windows or waits for a server can fail then, whatever the
// code does, so `npm test` runs the files again that failed in such a time.

/** How often this process looks at the clock, in ms. */
const EVERY_MS = 100
/** A gap that is longer was a stall: a busy machine still lets a process run several times a second. */
const LONGEST_GAP_MS = 1000

/**
 * Watches from now on.
 *
 * @returns `during(fromMs, toMs)`, the seconds that the machine stood still in that time (ms since 1970), and `end()`
 */
export function watchStalls() {
  const stalls = []
  let lastMs = Date.now()
  const look = () => {
    const nowMs = Date.now()
    if (nowMs - lastMs > LONGEST_GAP_MS) stalls.push([lastMs, nowMs])
    lastMs = nowMs
  }
  const timer = setInterval(look, EVERY_MS)
  return {
    during(fromMs, toMs) {
      const met = stalls.filter(([begin, end]) => begin < toMs && end > fromMs)
      return met.reduce((sum, [begin, end]) => sum + end - begin, 0) / 1000
    },
    end: () => clearInterval(timer),
  }
}
