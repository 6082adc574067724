// The words around the traffic.
import { mostInAnyWindow } from './check.js'

export function introduce({ url, minuteMs, store }) {
  return [
    '',
    'Tollgate demo: an API that sells three plans.',
    '  free 100/min    starter 300/min    pro 50/s burst 100 and 5000000/month',
    `It listens on ${url} and counts in ${store}.`,
    `To be quick, a minute of the demo lasts ${minuteMs / 1000} real seconds. Only pro's 50/s is per real second.`,
  ]
}

export function tryIt({ url, minuteMs, token }) {
  const link = token ? `${url}_tollgate/?token=${token}` : `${url}_tollgate/`
  return [
    '',
    'Try it from another terminal:',
    `  curl -i ${url} -H 'x-api-key: demo-pro'`,
    '      allowed; the headers say what is left of every limit',
    `  curl -i '${url}report?[1-2]' -H 'x-api-key: demo-free'`,
    `      two reports of 60 units each: the second is denied, for ${minuteMs / 1000} real seconds`,
    `  curl -i ${url}`,
    '      no key: counted by address, on the free plan (demo-starter is there too)',
    `  ${link}`,
    token ? '      the dashboard, for one browser on this machine' : '      the dashboard, with the password',
  ]
}

export function announce() {
  return [
    '',
    'Now real requests of three tenants. Times are minutes and seconds of the demo:',
    '  free     tries the trick that breaks fixed windows: one request at 0:00 to open the window, 99 at its end',
    '           (0:56) and 100 right after it (1:01). Then it asks once every 4 s, and at 2:04 for 100 at once.',
    '           The same traffic also goes to an API with a fixed window.',
    '  starter  stays below its plan, and runs away at 1:00.',
    '  pro      comes with a burst at 0:08, then asks for half of its rate, and from 1:00 for twice its rate.',
    '',
  ]
}

/** Said when free begins something that would else look like a fault: refusals one by one, and one more burst. */
export const moments = {
  asking: '  free     asks once every 4 s of the demo, and is refused until its first 99 are a minute old.',
  returning: '  free     comes back with 100 at once: a minute later it has its whole plan again.',
}

/** What was seen, from the numbers alone. */
export function explain({ free, starter, pro }, seen, minuteMs) {
  const wasBusy = seen.free.ms > minuteMs / 6
  const most = (tenant) => mostInAnyWindow(tenant.log, minuteMs)
  const rate = 50
  const allowed = 100 + (rate * minuteMs) / 1000
  return [
    '',
    `free     Around the end of the minute ${sumOf(seen.free, minuteMs)} passed: the one of 0:00 had`,
    `         come back. In any minute it got at most ${most(free)}; a minute later ${seen.free.later} of 100 at once passed.`,
    `         With a fixed window of 100/min ${sumOf(seen.fixed, minuteMs)} passed: the new`,
    '         window began with a whole new quota.',
    `starter  Below its plan ${seen.polite.limited} of ${seen.polite.sent} were limited. Running away it got at most ${most(starter)} in any minute,`,
    `         and ${starter.limited} requests were limited.`,
    `pro      ${seen.pro.burst} of 140 at once passed: the burst of 100, and ${seen.pro.burst - 100} that came back meanwhile, ${rate} a real second.`,
    `         At half its rate ${seen.pro.limitedAtHalf} were limited. At twice its rate it got ${most(pro)} in its fullest ${minuteMs / 1000} real seconds, of`,
    `         the 100 + ${minuteMs / 1000} x ${rate} = ${allowed} that its plan allows.`,
    ...(wasBusy
      ? ['(This machine was busy: requests came later than planned, and the numbers differ by that.)']
      : []),
    '',
  ]
}

/** Two bursts and how soon after each other they were, in seconds of the demo. */
function sumOf({ before, after, ms }, minuteMs) {
  return `${before} + ${after} = ${before + after} requests within ${Math.ceil((ms / minuteMs) * 60)} s of the demo`
}

/** @param undecided requests that the store did not answer, since then no plan can hold */
export function conclude(faults, undecided) {
  const wrong = faults.map((fault) => `WRONG: ${fault}.`)
  if (undecided > 0) wrong.push(`Redis did not answer ${undecided} requests, and those passed unlimited.`)
  if (wrong.length > 0) return wrong
  return ['Every tenant got what its plan promises: no more in any true window, and no less.']
}
