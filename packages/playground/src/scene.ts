// The settings of a scene, and the link that holds them.
import { ALGORITHMS, readLimits, type Algorithm } from './limiters.ts'
import { play, type Run } from './run.ts'
import { arrivalsOf, PATTERNS, patternText, type LimitShape, type Pattern } from './traffic.ts'

export interface Scene {
  /** As typed: `100/min`, or `['50/s', '5000/h']`. */
  readonly limit: string
  readonly algorithm: Algorithm
  readonly pattern: Pattern
  /** As typed, for the pattern `own`. */
  readonly own: string
  readonly seed: number
}

/** Two hundred requests around the end of a minute, with a limit of a hundred a minute. */
export const FIRST: Scene = { limit: '100/min', algorithm: 'sliding-log', pattern: 'seam', own: '', seed: 1 }

/** The hash of a link: only what differs from the first scene. */
export function hashOf(scene: Scene): string {
  const { limit, algorithm, pattern, own, seed } = scene
  const all = { limit, algorithm, traffic: pattern, own: pattern === 'own' ? own : '', seed: String(seed) }
  const usual = { ...FIRST, traffic: FIRST.pattern, seed: String(FIRST.seed) }
  const changed = Object.entries(all).filter(([name, value]) => value !== usual[name as keyof typeof all])
  return changed.length === 0 ? '' : `#${new URLSearchParams(changed)}`
}

/** The scene of a link. What a link does not say, or says wrongly, is as in the first scene. */
export function sceneOf(hash: string): Scene {
  const said = new URLSearchParams(hash.replace(/^#/, ''))
  const [algorithm, pattern, seed] = [said.get('algorithm'), said.get('traffic'), said.get('seed')]
  return {
    limit: said.get('limit') ?? FIRST.limit,
    algorithm: isOneOf(ALGORITHMS, algorithm) ? algorithm : FIRST.algorithm,
    pattern: isOneOf(PATTERNS, pattern) ? pattern : FIRST.pattern,
    own: said.get('own') ?? FIRST.own,
    seed: seed !== null && /^\d{1,9}$/.test(seed) ? Number(seed) : FIRST.seed,
  }
}

function isOneOf<Name extends string>(
  all: Readonly<Record<Name, unknown>>,
  name: string | null,
): name is Name {
  return name !== null && Object.hasOwn(all, name)
}

/** The traffic of a scene, as one would type it. */
export function trafficText({ pattern, own }: Scene, shape: LimitShape): string {
  return pattern === 'own' ? own : patternText(pattern, shape)
}

/** @throws {ConfigError | TrafficError} when limits or traffic are wrong; the message says what to type */
export function runOf(scene: Scene): Run {
  const { limit, algorithm, seed } = scene
  return play(readLimits(limit), algorithm, (shape) => arrivalsOf(trafficText(scene, shape), seed))
}
