// Breadth-first over all that can happen in a world, and random ways through it. A world is made again for each state, from what
// has happened: real objects cannot be copied.
import { createHash } from 'node:crypto'
import { Random } from '@tollgate/testing'

/** A law that does not hold. */
export class Violation extends Error {
  readonly law: string

  constructor(law: string, what: string) {
    super(`${law}: ${what}`)
    this.law = law
  }
}

/** What a checker looks at. Its functions throw a Violation where a law does not hold. */
export interface CheckedWorld {
  /** All that may happen next. */
  actions(): readonly string[]
  /** @returns whether anything was there to happen */
  do(action: string): boolean
  /** What must hold at any time. */
  judge(): void
  /** All that is there: two worlds with the same text have the same future. */
  text(): string
  /** What must hold when all that is promised has happened. Nothing else is done with the world afterwards. */
  end(): void
}

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

/** A world whose promises are kept in later turns of the event loop. */
export interface SlowWorld extends Omit<CheckedWorld, 'do' | 'end'> {
  do(action: string): Promise<boolean>
  end(): Promise<void>
}

/** What is to be done with a world: what it yields is given back when it is there. */
type Course<Result> = Generator<unknown, Result, unknown>

/** Visits each state once, until a law is broken or a bound is reached. */
export function check(begin: () => CheckedWorld, bounds: Bounds): Found {
  return run(checking(begin, bounds))
}

/** The same with a world that takes its time. */
export function checkSlowly(begin: () => SlowWorld, bounds: Bounds): Promise<Found> {
  return runSlowly(checking(begin, bounds))
}

/** Does one thing after another, and judges each if told so. */
export function replay<World extends CheckedWorld>(
  world: World,
  trace: readonly string[],
  isJudged = false,
): World {
  return run(replaying(world, trace, isJudged))
}

/** One way through all that can happen, drawn at random. */
export function walk(world: CheckedWorld, steps: number, random: () => number): Found {
  return run(walking(world, steps, random))
}

/** The same with a world that takes its time. */
export function walkSlowly(world: SlowWorld, steps: number, random: () => number): Promise<Found> {
  return runSlowly(walking(world, steps, random))
}

function run<Result>(course: Course<Result>): Result {
  let next = course.next()
  while (!next.done) next = course.next(next.value)
  return next.value
}

async function runSlowly<Result>(course: Course<Result>): Promise<Result> {
  let next = course.next()
  while (!next.done) {
    let value: unknown
    try {
      value = await next.value
    } catch (error) {
      next = course.throw(error)
      continue
    }
    next = course.next(value)
  }
  return next.value
}

function* checking(
  begin: () => CheckedWorld | SlowWorld,
  { depth: most, steps: mostSteps }: Bounds,
): Course<Found> {
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
      for (const action of (yield* replaying(begin(), trace)).actions()) {
        if (steps === mostSteps) return found(depth)
        const longer = [...trace, action]
        steps += 1
        try {
          const world = yield* replaying(begin(), trace)
          if (!(yield world.do(action))) continue
          world.judge()
          const text = createHash('md5').update(world.text()).digest('base64')
          if (known.has(text)) continue
          known.add(text)
          next.push(longer)
          yield world.end()
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

function* replaying<World extends CheckedWorld | SlowWorld>(
  world: World,
  trace: readonly string[],
  isJudged = false,
): Course<World> {
  for (const action of trace) if ((yield world.do(action)) && isJudged) world.judge()
  return world
}

function* walking(world: CheckedWorld | SlowWorld, steps: number, random: () => number): Course<Found> {
  const started = performance.now()
  const trace: string[] = []
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
      if (yield world.do(action)) world.judge()
      else trace.pop()
    }
    yield world.end()
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { ...found(), violation: { law: error.law, what: error.message, trace } }
  }
  return found()
}

/** Numbers from 0 to just under 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}

/** What was found, for people. */
export function told({ states, steps, depth, ms, violation }: Found): string {
  const figures = `${states} states, ${steps} steps, all of depth ${depth}, ${(ms / 1000).toFixed(1)} s`
  return violation ? `${figures}\n${violation.what}\n${violation.trace.join(', ')}` : figures
}
