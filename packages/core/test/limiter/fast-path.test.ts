import { eventually } from '@tollgate/testing'
import { elapsedMs } from '../../src/base/timers.js'
import { keepSilent } from '../../src/base/warnings.js'
import type { FastPath, FastPathHost, ForgetReason } from '../../src/features/fast-path.js'
import { memoryStore, type Store } from '../../src/index.js'
import { Events } from '../../src/limiter/report/events.js'
import { settleDecision } from '../../src/limiter/settle/settlement.js'
import { Pipeline } from '../../src/limiter/pipeline/pipeline.js'
import { StoreWarning } from '../../src/limiter/report/store-warning.js'
import { Reporter } from '../../src/limiter/report/reporter.js'
import { compilePlan } from '../../src/plans/plan.js'
import type { Request } from '../../src/requests/request.js'
import { asyncStore } from '../support/stores.js'

const plan = compilePlan('default', '5/min', 'limit')
const requestOf = (key: string, cost = 1): Request => {
  const { set, limits } = plan
  if (!set) throw new Error('unlimited')
  const subject = { id: key }
  const part = {
    key,
    set,
    cost,
    subject,
    limits,
    planName: undefined,
    place: undefined,
    onStoreFailure: undefined,
    shard: 0,
  }
  return { subject, plan, cost, parts: [part], limits, shard: 0, grant: 'all' }
}

/** Denies blocked subjects, and records what it learns. */
class FakePath implements FastPath {
  readonly learnt: string[] = []
  readonly forgotten: string[] = []
  readonly sentAtMs: number[] = []
  readonly answered: string[] = []
  #host: FastPathHost | undefined
  readonly #blocked: string

  constructor(blocked: string) {
    this.#blocked = blocked
  }

  answer(step: Request): ReturnType<FastPath['answer']> {
    return keyOf(step) === this.#blocked ? { source: 'closed', allowed: false, step } : undefined
  }

  learn(request: Request, { limits }: Parameters<NonNullable<FastPath['learn']>>[1], sentAtMs: number): void {
    this.sentAtMs.push(sentAtMs)
    this.learnt.push(`${keyOf(request)}: ${limits[0]?.remaining}`)
  }

  start(host: FastPathHost): void {
    this.#host = host
  }

  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    this.forgotten.push(...keys.map((key) => `${reason} ${key}`))
  }

  send(request: Request): void {
    this.#host?.send(request, (outcome) => {
      this.answered.push(`${keyOf(request)}: ${outcome?.limits[0]?.remaining}`)
    })
  }
}

const keyOf = ({ parts }: Request): string | undefined => parts[0]?.key

/** A pipeline with two fast paths, and the calls of its store. */
function start(make: (asked: string[]) => Store): {
  pipeline: Pipeline
  paths: [FakePath, FakePath]
  asked: string[]
} {
  const asked: string[] = []
  const paths: [FakePath, FakePath] = [new FakePath('first'), new FakePath('second')]
  const options = {
    store: make(asked),
    onStoreFailure: 'closed',
    local: { instances: 1 },
    deadlineMs: 5000,
    begin: '',
    warn: keepSilent,
    fastPaths: paths,
  } as const
  const reporter = new Reporter(new Events({}, keepSilent), new StoreWarning(keepSilent, 'closed'))
  return { pipeline: new Pipeline(options, reporter), paths, asked }
}

/** A memory store that records its calls. */
function noting(asked: string[]): Pick<Store, 'consume' | 'peek' | 'refund' | 'reset'> {
  const inner = memoryStore()
  return {
    consume: (batch) => {
      asked.push(...batch.map(({ parts }) => parts[0]?.key ?? ''))
      return inner.consume(batch)
    },
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
  }
}

const kinds: [string, (asked: string[]) => Store][] = [
  ['answers at once', (asked) => ({ synchronous: true, ...noting(asked) })],
  ['answers later', (asked) => asyncStore({}, { synchronous: true, ...noting(asked) })],
]

describe.each(kinds)('fast paths before a store that %s', (kind, make) => {
  test('the first path that knows the answer gives it, and the store is not asked', async () => {
    const { pipeline, asked, paths } = start(make)
    for (const key of ['first', 'second']) {
      expect(await pipeline.consume(requestOf(key))).toMatchObject({ allowed: false, source: 'closed' })
      expect(await pipeline.peek(requestOf(key))).toMatchObject({ allowed: false, source: 'closed' })
    }
    expect(asked).toEqual([])
    expect(paths.map(({ learnt }) => learnt)).toEqual([[], []])
    expect(pipeline.stats().decisions.closed.denied).toBe(2)
  })

  test("paths learn the store's outcomes of requests and peeks, allowed or not", async () => {
    const { pipeline, asked, paths } = start(make)
    expect(await pipeline.consume(requestOf('acme', 4))).toMatchObject({ allowed: true, source: 'store' })
    expect((await pipeline.consume(requestOf('acme', 4))).allowed).toBe(false)
    await pipeline.peek(requestOf('acme'))
    for (const { learnt } of paths) expect(learnt).toEqual(['acme: 1', 'acme: 1', 'acme: 1'])
    expect(asked).toEqual(['acme', 'acme'])
  })

  test('paths learn when the call was sent that an outcome is of', async () => {
    const { pipeline, paths } = start(make)
    if (kind === 'answers at once') {
      await pipeline.consume(requestOf('acme'))
      expect(paths[0].sentAtMs).toEqual([0])
      return
    }
    const times = [elapsedMs()]
    for (const how of ['consume', 'peek'] as const) {
      await pipeline[how](requestOf('acme'))
      times.push(paths[0].sentAtMs.at(-1) ?? NaN, elapsedMs())
    }
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times).toHaveLength(5)
  })

  test('paths forget a subject that gets units back, after the store has given them', async () => {
    const { pipeline, paths } = start(make)
    const decision = await pipeline.consume(requestOf('acme'))
    const settlement = settleDecision(decision, 0, pipeline)
    if (!settlement) throw new Error('not settled')
    const given = pipeline.refund(settlement)
    for (const { forgotten } of paths) expect(forgotten).toEqual([])
    expect(await given).toEqual(['given'])
    for (const { forgotten } of paths) expect(forgotten).toEqual(['changed acme'])
    await pipeline.close()
  })

  test('paths forget a subject that is reset', async () => {
    const { pipeline, paths } = start(make)
    await pipeline.byKey.reset({ shard: 0, keys: ['acme', 'acme*search'], sets: [] })
    const once = ['reset acme', 'reset acme*search']
    for (const { forgotten } of paths) expect(forgotten).toEqual([...once, ...once])
  })

  test('a request of a path is sent once, and only that path gets the answer', async () => {
    const { pipeline, paths, asked } = start(make)
    const [path, other] = paths
    path.send(requestOf('lease', 3))
    await pipeline.consume(requestOf('acme'))
    await eventually(() => expect(path.answered).toEqual(['lease: 2']))
    expect(path.learnt).toEqual(['acme: 4'])
    expect(other.learnt).toEqual(['acme: 4'])
    expect(other.answered).toEqual([])
    expect(asked.toSorted()).toEqual(['acme', 'lease'])
    // It is not counted as a decision, since no caller waited for it.
    expect(pipeline.stats().decisions.store.allowed).toBe(1)
    await pipeline.close()
  })

  test('an unanswered request of a path is not a failed request of a caller', async () => {
    const { pipeline, paths } = start((asked) => {
      const store = make(asked)
      const consume: Store['consume'] = (batch, call) => {
        if (batch.some((request) => keyOf(request as Request) === 'lease')) throw new Error('down')
        return store.consume(batch, call)
      }
      return { ...store, consume }
    })
    paths[0].send(requestOf('lease'))
    await eventually(() => expect(paths[0].answered).toEqual(['lease: undefined']))
    expect((await pipeline.consume(requestOf('acme'))).source).toBe('store')
    expect((await pipeline.consume(requestOf('acme'))).source).toBe('store')
    expect(paths[0].learnt).toEqual(['acme: 4', 'acme: 3'])
    await pipeline.close()
  })
})
