import { eventually } from '@tollgate/testing'
import { elapsedMs } from '../../src/base/timers.js'
import { keepSilent } from '../../src/base/warnings.js'
import type { Feature, FeatureHost, ForgetReason } from '../../src/requests/feature.js'
import { memoryStore, type Store } from '../../src/index.js'
import { Events } from '../../src/limiter/report/events.js'
import { settleDecision } from '../../src/limiter/settle/settlement.js'
import { Pipeline } from '../../src/limiter/pipeline/pipeline.js'
import { Reporter, StoreWarning } from '../../src/limiter/report/reporter.js'
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
class FakeFeature implements Feature {
  readonly learnt: string[] = []
  readonly forgotten: string[] = []
  readonly sentAtMs: number[] = []
  readonly answered: string[] = []
  readonly #host: FeatureHost
  readonly #blocked: string

  constructor(host: FeatureHost, blocked: string) {
    this.#host = host
    this.#blocked = blocked
  }

  answer(step: Request): ReturnType<NonNullable<Feature['answer']>> {
    return keyOf(step) === this.#blocked ? { source: 'closed', allowed: false, step } : undefined
  }

  learn(request: Request, { limits }: Parameters<NonNullable<Feature['learn']>>[1], sentAtMs: number): void {
    this.sentAtMs.push(sentAtMs)
    this.learnt.push(`${keyOf(request)}: ${limits[0]?.remaining}`)
  }

  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    this.forgotten.push(...keys.map((key) => `${reason} ${key}`))
  }

  send(request: Request): void {
    this.#host.send(request, (outcome) => {
      this.answered.push(`${keyOf(request)}: ${outcome?.limits[0]?.remaining}`)
    })
  }
}

const keyOf = ({ parts }: Request): string | undefined => parts[0]?.key

/** A pipeline with two features, and the calls of its store. */
function start(make: (asked: string[]) => Store): {
  pipeline: Pipeline
  features: readonly FakeFeature[]
  asked: string[]
} {
  const asked: string[] = []
  let features: readonly FakeFeature[] = []
  const options = {
    store: make(asked),
    onStoreFailure: 'closed',
    local: { instances: 1 },
    deadlineMs: 5000,
    begin: '',
    blockOf: () => undefined,
    areCounted: () => false,
    warn: keepSilent,
    features: (host: FeatureHost) => (features = ['first', 'second'].map((id) => new FakeFeature(host, id))),
  } as const
  const reporter = new Reporter(new Events({}, keepSilent), new StoreWarning(keepSilent, 'closed'))
  const pipeline = new Pipeline(options, reporter)
  return { pipeline, features, asked }
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

describe.each(kinds)('features before a store that %s', (kind, make) => {
  test('the first feature that knows the answer gives it, and the store is not asked', async () => {
    const { pipeline, asked, features } = start(make)
    for (const key of ['first', 'second']) {
      expect(await pipeline.consume(requestOf(key))).toMatchObject({ allowed: false, source: 'closed' })
      expect(await pipeline.peek(requestOf(key))).toMatchObject({ allowed: false, source: 'closed' })
    }
    expect(asked).toEqual([])
    expect(features.map(({ learnt }) => learnt)).toEqual([[], []])
    expect(pipeline.stats().decisions.closed.denied).toBe(2)
  })

  test("features learn the store's outcomes of requests and peeks, allowed or not", async () => {
    const { pipeline, asked, features } = start(make)
    expect(await pipeline.consume(requestOf('acme', 4))).toMatchObject({ allowed: true, source: 'store' })
    expect((await pipeline.consume(requestOf('acme', 4))).allowed).toBe(false)
    await pipeline.peek(requestOf('acme'))
    const learnt = kind === 'answers at once' ? [] : ['acme: 1', 'acme: 1', 'acme: 1']
    for (const feature of features) expect(feature.learnt).toEqual(learnt)
    expect(asked).toEqual(['acme', 'acme'])
  })

  test('features learn when the call was sent that an outcome is of', async () => {
    const { pipeline, features } = start(make)
    if (kind === 'answers at once') {
      await pipeline.consume(requestOf('acme'))
      expect(features[0]?.sentAtMs).toEqual([])
      return
    }
    const times = [elapsedMs()]
    for (const how of ['consume', 'peek'] as const) {
      await pipeline[how](requestOf('acme'))
      times.push(features[0]?.sentAtMs.at(-1) ?? NaN, elapsedMs())
    }
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times).toHaveLength(5)
  })

  test('features forget a subject that gets units back, after the store has given them', async () => {
    const { pipeline, features } = start(make)
    const decision = await pipeline.consume(requestOf('acme'))
    const settlement = settleDecision(decision, 0, pipeline)
    if (!settlement) throw new Error('not settled')
    const given = pipeline.refund(settlement)
    for (const { forgotten } of features) expect(forgotten).toEqual([])
    expect(await given).toEqual(['given'])
    for (const { forgotten } of features) expect(forgotten).toEqual(['changed acme'])
    await pipeline.close()
  })

  test('features forget a subject that is reset', async () => {
    const { pipeline, features } = start(make)
    await pipeline.reset({ shard: 0, keys: ['acme', 'acme*search'], sets: [] })
    const all = ['resetting', 'reset'].flatMap((why) => [`${why} acme`, `${why} acme*search`])
    for (const { forgotten } of features) expect(forgotten).toEqual(all)
  })

  test('a request of a feature is sent once, and only that feature gets the answer', async () => {
    const { pipeline, features, asked } = start(make)
    const [feature, other] = features as [FakeFeature, FakeFeature]
    feature.send(requestOf('lease', 3))
    await pipeline.consume(requestOf('acme'))
    await eventually(() => expect(feature.answered).toEqual(['lease: 2']))
    const learnt = kind === 'answers at once' ? [] : ['acme: 4']
    expect(feature.learnt).toEqual(learnt)
    expect(other.learnt).toEqual(learnt)
    expect(other.answered).toEqual([])
    expect(asked.toSorted()).toEqual(['acme', 'lease'])
    // It is not counted as a decision, since no caller waited for it.
    expect(pipeline.stats().decisions.store.allowed).toBe(1)
    await pipeline.close()
  })

  test('an unanswered request of a feature is not a failed request of a caller', async () => {
    const { pipeline, features } = start((asked) => {
      const store = make(asked)
      const consume: Store['consume'] = (batch, call) => {
        if (batch.some((request) => keyOf(request as Request) === 'lease')) throw new Error('down')
        return store.consume(batch, call)
      }
      return { ...store, consume }
    })
    const [feature] = features as [FakeFeature]
    feature.send(requestOf('lease'))
    await eventually(() => expect(feature.answered).toEqual(['lease: undefined']))
    expect((await pipeline.consume(requestOf('acme'))).source).toBe('store')
    expect((await pipeline.consume(requestOf('acme'))).source).toBe('store')
    expect(feature.learnt).toEqual(kind === 'answers at once' ? [] : ['acme: 4', 'acme: 3'])
    await pipeline.close()
  })
})
