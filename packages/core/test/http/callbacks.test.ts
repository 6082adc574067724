// All functions that the options take keep one contract. What they return may be a promise of any library wherever a request
// can wait for it; elsewhere a promise is refused, never taken for a value. What they throw, or reject with, goes to the
// application's error handling, or is told where that can do nothing. It never ends the process.
import { Redis } from 'ioredis'
import { createHttpLimiter, type ResponseEnd } from '../../src/adapter.js'
import {
  byBearerToken,
  byHeader,
  byJwtClaim,
  createLimiter,
  memoryStore,
  redisStore,
  type LimiterOptions,
  type MemoryStoreOptions,
  type RateLimitOptions,
  type RedisStoreOptions,
} from '../../src/index.js'
import { failingStore } from '../../src/testing.js'
import { httpAdapter } from '../support/http-adapter.js'
import type { ShedOptions } from '../../src/http/shedding/shedder.js'
import type { ByBearerTokenOptions, ByJwtClaimOptions } from '../../src/http/who/credentials.js'
import type { ByHeaderOptions } from '../../src/http/who/identify.js'
import type { PlanCacheOptions } from '../../src/requests/plan/plan-lookup.js'

interface Req {
  readonly headers: Record<string, string>
  readonly isFirst?: boolean
}
interface Res {
  /** What was answered in place of the application. */
  answer?: string
  readonly ends: ((end: ResponseEnd) => void)[]
}
type Options = RateLimitOptions<Req, Res>
type Callback = () => never

const adapter = httpAdapter<Req, Res>({
  header: (req, name) => req.headers[name],
  trustsProxy: () => true,
  end: (res, { status, body }) => void (res.answer = `${status} ${body}`),
  onEnd: (res, listener) => void res.ends.push(listener),
})

const FOR_COUNTING = { autoResendUnfulfilledCommands: false }

const boom = new Error('boom')
/** How a function can answer, by what it should. */
const ANSWERS = {
  value: (good: unknown) => () => good,
  promise: (good: unknown) => () => Promise.resolve(good),
  thenable: (good: unknown) => () => ({ then: (resolve: (value: unknown) => void) => resolve(good) }),
  throws: () => () => {
    throw boom
  },
  rejects: () => () => Promise.reject(boom),
  'never settles': () => () => new Promise(() => {}),
}
type Answered = keyof typeof ANSWERS

/** What comes of it. `good`: what it says was done; `waits`: so does the request; `refused`: an error of Tollgate; */
type Result = 'good' | 'not done' | 'waits' | 'thrown' | 'refused' | 'told'
type Contract = Readonly<Record<Answered, Result>>

const GOOD = { value: 'good', promise: 'good', thenable: 'good' } as const
/** The request waits for it. */
const AWAITED: Contract = { ...GOOD, throws: 'thrown', rejects: 'thrown', 'never settles': 'waits' }
/** It is needed at once. */
const AT_ONCE: Contract = {
  ...{ value: 'good', promise: 'refused', thenable: 'refused' },
  ...{ throws: 'thrown', rejects: 'refused', 'never settles': 'refused' },
}
/** It is needed at once where no error handler is. */
const AT_ONCE_TOLD: Contract = {
  ...{ value: 'good', promise: 'told', thenable: 'told' },
  ...{ throws: 'told', rejects: 'told', 'never settles': 'told' },
}
const LOOK_UP: Contract = { ...GOOD, throws: 'told', rejects: 'told', 'never settles': 'told' }
const AFTERWARDS: Contract = { ...GOOD, throws: 'told', rejects: 'told', 'never settles': 'not done' }
const IGNORED: Contract = { ...AFTERWARDS, 'never settles': 'good' }

/** Whether what the function says was done. */
type Ask = (callback: Callback) => Promise<boolean>
type Row = readonly [contract: Contract, good: unknown, ask: Ask]

const limiters: { close(): Promise<void> }[] = []
const codes: string[] = []
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
const turn = (): Promise<void> => new Promise(setImmediate)

const responses: Res[] = []
function makeLimiter(options: LimiterOptions): ReturnType<typeof createLimiter> {
  const limiter = createLimiter(options)
  limiters.push(limiter)
  limiter.on('planError', () => codes.push('planError'))
  return limiter
}

/** Asks with a limiter of one unit a minute, unless the options have another. Returns the answer; undefined: let in. */
async function send(options: Options, req: Req = { headers: {} }): Promise<string | undefined> {
  const http = createHttpLimiter(adapter, options)
  limiters.push(http.limiter)
  return sendTo(http, req)
}

async function sendTo(
  http: { admit(req: Req, res: Res): unknown },
  req: Req = { headers: {} },
): Promise<string | undefined> {
  const res: Res = { ends: [] }
  responses.push(res)
  const isLetIn = await http.admit(req, res)
  expect(isLetIn).toBe(res.answer === undefined)
  return res.answer
}

const plans = { free: '1/min', pro: 'unlimited' } as const
/** Whether a subject is on the plan `pro`, which has no limits. */
const isPro =
  (optionsOf: (callback: Callback) => Options, headers: Record<string, string> = {}): Ask =>
  async (callback) => {
    const options = optionsOf(callback)
    const made = options.limiter ? {} : { plans, defaultPlan: 'free', warnings: false }
    const http = createHttpLimiter(adapter, { ...made, ...options })
    limiters.push(http.limiter)
    const answers = [await sendTo(http, { headers }), await sendTo(http, { headers })]
    return answers.every((answer) => answer === undefined)
  }
/** Whether a request that costs too much is let in. */
const passes =
  (name: keyof Options): Ask =>
  async (callback) =>
    (await send({ limit: '1/min', cost: 2, [name]: callback })) === undefined

type Functions<T> = {
  [Name in keyof T]-?: Extract<T[Name], (...args: never[]) => unknown> extends never ? never : Name
}[keyof T] &
  string
type Names =
  | Functions<Options>
  | `shed.${Functions<ShedOptions>}`
  | `planCache.${Functions<PlanCacheOptions>}`
  | `byHeader.${Functions<ByHeaderOptions>}`
  | `byBearerToken.${Functions<ByBearerTokenOptions>}`
  | `byJwtClaim.${Functions<ByJwtClaimOptions<Req>>}`
  | `memoryStore.${Functions<MemoryStoreOptions>}`
  | `redisStore.${Functions<RedisStoreOptions>}`
  | 'listener'

const ROWS: Readonly<Record<Names, Row>> = {
  identify: [AWAITED, { id: 'a', plan: 'pro' }, isPro((identify) => ({ identify }))],
  limit: [AWAITED, ['2/min'], async (limit) => (await send({ limit, cost: 2 })) === undefined],
  cost: [AWAITED, 2, async (cost) => String(await send({ limit: '1/min', cost })).startsWith('429')],
  skip: [AWAITED, true, passes('skip')],
  allowList: [AWAITED, true, passes('allowList')],
  blockList: [
    AWAITED,
    true,
    async (blockList) => String(await send({ limit: '1/min', blockList })).startsWith('403'),
  ],
  body: [AWAITED, 'sorry', async (body) => (await send({ limit: '1/min', cost: 2, body })) === '429 sorry'],
  onDenied: [
    AWAITED,
    undefined,
    async (callback) => {
      const http = createHttpLimiter(adapter, { limit: '1/min', cost: 2, onDenied: callback })
      limiters.push(http.limiter)
      return (await http.admit({ headers: {} }, { ends: [] })) === false
    },
  ],
  refundWhen: [
    AFTERWARDS,
    true,
    async (refundWhen) => {
      const limiter = makeLimiter({ limit: '1/min' })
      const res: Res = { ends: [] }
      await createHttpLimiter(adapter, { limiter, identify: () => 'a', refundWhen }).admit(
        { headers: {} },
        res,
      )
      for (const end of res.ends) end({ isAborted: false, status: 500 })
      await turn()
      return (await limiter.peek('a')).allowed
    },
  ],
  'shed.exempt': [
    AWAITED,
    true,
    async (callback) => {
      const shed = { maxInFlight: 1, exempt: (req: Req) => !req.isFirst && callback() }
      const http = createHttpLimiter(adapter, { limit: '9/min', shed })
      limiters.push(http.limiter)
      expect(await sendTo(http, { headers: {}, isFirst: true })).toBeUndefined()
      return (await sendTo(http)) === undefined
    },
  ],
  eventContext: [
    AT_ONCE,
    { of: 'a' },
    async (eventContext) => {
      const limiter = makeLimiter({ limit: '1/min' })
      const heard: unknown[] = []
      limiter.on('decision', (_, context) => heard.push(context))
      await sendTo(createHttpLimiter(adapter, { limiter, eventContext }))
      return (heard[0] as { of?: string }).of === 'a'
    },
  ],
  planOf: [
    LOOK_UP,
    'pro',
    async (planOf) => {
      const limiter = makeLimiter({ plans, defaultPlan: 'free', planOf, planCache: { deadlineMs: 5 } })
      return isPro(() => ({ limiter, identify: () => 'a' }))(planOf)
    },
  ],
  onStoreFailure: [
    AT_ONCE_TOLD,
    'closed',
    async (onStoreFailure) => {
      const store = failingStore(memoryStore())
      store.down(boom)
      return String(await send({ limit: '1/min', store, onStoreFailure })).startsWith('503')
    },
  ],
  listener: [
    IGNORED,
    undefined,
    async (callback) => {
      const limiter = makeLimiter({ limit: '1/min' })
      limiter.on('decision', callback)
      const { allowed } = await limiter.consume('a')
      await turn()
      return allowed
    },
  ],
  'byHeader.plan': [AT_ONCE, 'pro', isPro((plan) => ({ identify: byHeader('key', { plan }) }), { key: 'a' })],
  'byBearerToken.plan': [
    AT_ONCE,
    'pro',
    isPro((plan) => ({ identify: byBearerToken({ plan }) }), { authorization: 'Bearer abc' }),
  ],
  'byJwtClaim.token': [
    AWAITED,
    { sub: 'a', plan: 'pro' },
    isPro((token) => ({ identify: byJwtClaim('sub', { planClaim: 'plan', token }) })),
  ],
  'memoryStore.now': [
    AT_ONCE,
    5,
    async (now) => (await send({ limit: '1/min', store: memoryStore({ now }) })) === undefined,
  ],
  'redisStore.now': [
    AT_ONCE,
    5,
    async (now) => Boolean(redisStore(new Redis({ lazyConnect: true, ...FOR_COUNTING }), { now })),
  ],
}

let emitted: jest.SpyInstance
beforeAll(() => {
  process.on('unhandledRejection', note)
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation((_: unknown, options: unknown) => {
    codes.push((options as { code: string }).code)
  })
})
afterAll(() => {
  process.off('unhandledRejection', note)
  emitted.mockRestore()
})
afterEach(async () => {
  for (const { ends } of responses.splice(0))
    for (const end of ends) end({ isAborted: true, status: undefined })
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
  codes.length = 0
})

async function resultOf(ask: () => Promise<boolean>, waits: boolean): Promise<Result> {
  // A promise that never settles leaves nothing to wait for: after some turns of the event loop it is still pending.
  const never = async (): Promise<'waits'> => {
    for (let i = 0; i < 20; i += 1) await turn()
    return 'waits'
  }
  try {
    const done = await (waits ? Promise.race([ask(), never()]) : ask())
    if (done === 'waits') return done
    if (codes.some((code) => /LISTENER|POLICY|REFUND|planError/.test(code))) return 'told'
    return done ? 'good' : 'not done'
  } catch (error) {
    if (error === boom) return 'thrown'
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_TOLLGATE_/) })
    return 'refused'
  }
}

const CASES = Object.entries(ROWS).flatMap(([name, row]) =>
  (Object.keys(ANSWERS) as Answered[]).map((answered) => [name, answered, row] as const),
)

test.each(CASES)('%s: %s', async (_, answered, [contract, good, ask]) => {
  const callback = ANSWERS[answered](good) as Callback
  expect(await resultOf(() => ask(callback), contract[answered] === 'waits')).toBe(contract[answered])
  await turn()
  expect(unhandled.splice(0)).toEqual([])
})

test.each(['skip', 'allowList', 'blockList', 'refundWhen', 'shed.exempt'] as const)(
  '%s: a promise of false is no',
  async (name) => {
    const [, , ask] = ROWS[name]
    expect(await ask(() => Promise.resolve(false) as never)).toBe(false)
  },
)
