// The words around the traffic.
import { mostInAnyWindow } from './check.js'

export function introduce({ url, minuteMs, store }) {
  return [
    '',
    'Tollgate demo: an API that sells three plans.',
    '  free 100/min    starter 300/min    pro 50/s burst 100 and 5000000/month',
    `It listens on ${url} and counts in ${store}.`,
    `A minute of the demo is scaled to ${minuteMs / 1000} s, and so are its seconds.`,
  ]
}

export function tryIt({ url, minuteMs }) {
  return [
    '',
    'Try it from another terminal:',
    `  curl -i ${url} -H 'x-api-key: demo-pro'`,
    '      allowed; the headers say what is left of every limit',
    `  curl -i '${url}report?[1-2]' -H 'x-api-key: demo-free'`,
    `      two reports of 60 units each: the second is denied, for ${minuteMs / 1000} s`,
    `  curl -i ${url}`,
    '      no key: counted by address, on the free plan (demo-starter is there too)',
  ]
}

export function announce() {
  return [
    '',
    'Now real requests of three tenants. free tries the trick that breaks fixed windows: 100 at the end of a',
    'minute (0:58) and 100 at the start of the next (1:02). starter runs away at 1:00, pro comes with a burst.',
    '',
  ]
}

/** What was seen, from the numbers alone. */
export function explain({ free, fixed, starter, pro }, seen, minuteMs) {
  const most = (tenant) => mostInAnyWindow(tenant.log, minuteMs)
  const around = ({ before, after }) => `${before} before the seam and ${after} after it`
  return [
    '',
    `free     ${around(seen.free)} passed: at most ${most(free)} in any minute.`,
    `         A minute later ${seen.free.later} of 100 at once passed.`,
    `         A fixed window of 100/min let pass ${around(seen.fixed)}:`,
    `         ${most(fixed)} in one minute, for the same requests.`,
    `starter  Below its plan ${seen.polite.limited} of ${seen.polite.sent} were limited; running away it got at most ${most(starter)} in any`,
    `         minute, and ${starter.limited} requests were limited.`,
    `pro      ${seen.pro.burst} of 140 at once passed: the burst of 100, and 50 a second meanwhile. At half its rate`,
    `         ${seen.pro.limitedAtHalf} were limited; at twice its rate it got ${most(pro)} in its fullest minute (${minuteMs / 1000} s).`,
    '',
  ]
}

/** @param undecided requests that the store did not answer, since then no plan can hold */
export function conclude(faults, undecided) {
  const wrong = faults.map((fault) => `WRONG: ${fault}.`)
  if (undecided > 0) wrong.push(`Redis did not answer ${undecided} requests, and those passed unlimited.`)
  if (wrong.length > 0) return wrong
  return ['Every tenant got what its plan promises: no more in any true window, and no less.']
}
