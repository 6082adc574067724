// Breadth-first over all that can happen. A world is made again for each state, from what has happened: real objects
// cannot be copied.
import { createHash } from 'node:crypto'
import type { WorldOptions } from './checker-options.js'
import { World } from './checker-world.js'
import { Violation } from './violation.js'

export interface Bounds {
  /** Things that happen one after another, at most. */
  readonly depth: number
  /** Things that are tried, at most. */
  readonly steps: number
}

export interface Found {
  readonly states: number
  readonly steps: number
  /** All states are known of which fewer things have happened. */
  readonly depth: number
  readonly ms: number
  readonly violation?: { readonly law: string; readonly what: string; readonly trace: readonly string[] }
}

/** Visits each state once, until a law is broken or a bound is reached. */
export function check(options: WorldOptions, { depth: most, steps: mostSteps }: Bounds): Found {
  const started = performance.now()
  const known = new Set<string>()
  let steps = 0
  let level: (readonly string[])[] = [[]]
  const found = (depth: number): Found => ({
    states: known.size,
    steps,
    depth,
    ms: performance.now() - started,
  })
  for (let depth = 0; depth < most && level.length > 0; depth += 1) {
    const next: (readonly string[])[] = []
    for (const trace of level) {
      for (const action of replay(options, trace).actions()) {
        if (steps === mostSteps) return found(depth)
        const longer = [...trace, action]
        steps += 1
        try {
          const world = replay(options, trace)
          if (!world.do(action)) continue
          world.judge()
          const text = createHash('md5').update(world.text()).digest('base64')
          if (known.has(text)) continue
          known.add(text)
          next.push(longer)
          world.end()
        } catch (error) {
          if (!(error instanceof Violation)) throw error
          return { ...found(depth), violation: { law: error.law, what: error.message, trace: longer } }
        }
      }
    }
    level = next
  }
  return found(most)
}

/** Does one thing after another, and judges each if told so. */
export function replay(options: WorldOptions, trace: readonly string[], isJudged = false): World {
  const world = new World(options)
  for (const action of trace) if (world.do(action) && isJudged) world.judge()
  return world
}

/** One way through all that can happen, drawn at random. */
export function walk(options: WorldOptions, steps: number, random: () => number): Found {
  const started = performance.now()
  const trace: string[] = []
  const world = new World(options)
  const found = (): Found => ({
    states: 1,
    steps: trace.length,
    depth: trace.length,
    ms: performance.now() - started,
  })
  try {
    for (let i = 0; i < steps; i += 1) {
      const actions = world.actions()
      const action = actions[Math.floor(random() * actions.length)] as string
      trace.push(action)
      if (world.do(action)) world.judge()
      else trace.pop()
    }
    world.end()
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { ...found(), violation: { law: error.law, what: error.message, trace } }
  }
  return found()
}
