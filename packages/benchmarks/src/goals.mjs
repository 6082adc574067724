// The project's goals, and whether a run reached them.
import { BASELINE, BUCKETS_3, PEERS, PRO_3 } from './contenders.mjs'
import { EXACT, PRO_SPREAD } from './memory.mjs'
import { median, paired } from './statistics.mjs'

const MEASURED = ['token-bucket', 'sliding-log 100/min']
/** The most CPU time of the server per decision with 64 requests in flight, in µs. */
const SERVER_US = { 'token-bucket': 2.5, 'sliding-log 100/min': 4, [BUCKETS_3]: 5, [PRO_3]: 5 }
const THREE_LIMITS_BYTES = 200
const EXACT_BYTES = (requests) => 8 * requests + 120

/** The name of the peer with more decisions per second. */
export function betterPeer(results) {
  const speed = (name) => median(results.get(name).perSecond)
  return PEERS.toSorted((a, b) => speed(b) - speed(a))[0]
}

/** @returns every goal with its bound, the measured value and whether the value reached it */
export function judge({ speed, memory }) {
  return [...speedGoals(speed), ...serverGoals(speed.get(64)), ...memoryGoals(memory)]
}

function speedGoals(speed) {
  const ratio = (inFlight, name, to) => {
    const results = speed.get(inFlight)
    return median(paired(results.get(name).perSecond, results.get(to).perSecond))
  }
  const peer = betterPeer(speed.get(512))
  return MEASURED.flatMap((name) => [
    atLeast(`${name}, 512 in flight: x INCR`, 2, ratio(512, name, BASELINE)),
    atLeast(`${name}, 512 in flight: x better peer`, 2.5, ratio(512, name, peer), peer),
    atLeast(`${name}, 1 in flight: x INCR`, 0.9, ratio(1, name, BASELINE)),
  ])
}

function serverGoals(results) {
  const base = results.get(BASELINE).serverUs
  return Object.entries(SERVER_US).map(([name, bound]) => {
    const { serverUs } = results.get(name)
    const note = `${median(paired(serverUs, base)).toFixed(2)} x INCR's ${median(base).toFixed(2)} µs`
    return atMost(`${name}, 64 in flight: server µs a decision`, bound, median(serverUs), note)
  })
}

function memoryGoals({ cases, results }) {
  const [few, , many] = cases.map(({ requests }) => requests)
  const ofThree = [BUCKETS_3, PRO_SPREAD].flatMap((name) => {
    const [bytesFew, , bytesMany] = results.get(name)
    return [
      atMost(`${name}: bytes a subject, ${few} request`, THREE_LIMITS_BYTES, bytesFew),
      atMost(`${name}: bytes a subject, ${many} requests`, THREE_LIMITS_BYTES, bytesMany),
    ]
  })
  const [, , exact] = results.get(EXACT)
  return [...ofThree, atMost(`${EXACT}: bytes a subject, ${many} requests`, EXACT_BYTES(many), exact)]
}

function atLeast(name, bound, value, note) {
  return { name, sign: '>=', bound, value, isReached: value >= bound, note }
}

function atMost(name, bound, value, note) {
  return { name, sign: '<=', bound, value, isReached: value <= bound, note }
}
