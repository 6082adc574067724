// `limit` as a function of the request, beside the contract that each adapter keeps.
import { createHttpLimiter } from '../../src/adapter.js'
import { createLimiter, type Decision, type RateLimitOptions } from '../../src/index.js'
import { httpAdapter } from '../support/http-adapter.js'

interface Req {
  ip: string | undefined
  limits?: string | undefined
  decision?: Decision
}
const adapter = httpAdapter<Req>({
  ip: ({ ip }) => ip,
  attach: (req, decision) => void (req.decision = decision),
})

const ask = async (options: RateLimitOptions<Req>, limits?: string): Promise<Req['decision']> => {
  const req: Req = { ip: '192.0.2.7', limits }
  await createHttpLimiter(adapter, options as never).admit(req, {})
  return req.decision
}
const limit = ({ limits }: Req): string | undefined => limits

test('an address is counted as one, with limits and without', async () => {
  const limiter = createLimiter({ limit: '9/min' })
  expect(await ask({ limiter, limit }, '4/min')).toMatchObject({
    plan: 'own-limits',
    subject: { id: '192.0.2.7', kind: 'ip', limits: '4/min' },
  })
  expect(await ask({ limiter, limit })).toMatchObject({
    plan: 'default',
    subject: { id: '192.0.2.7', kind: 'ip' },
  })
})

test('a thenable whose then gives nothing', async () => {
  const limiter = createLimiter({ limit: '9/min' })
  const then = (resolve: (limits: string) => void): void => {
    resolve('4/min')
  }
  expect(await ask({ limiter, limit: (() => ({ then })) as never })).toMatchObject({ limits: [{ quota: 4 }] })
})

test('an address that was given as an id is still told as one', async () => {
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const limiter = createLimiter({ limit: '9/min' })
  await ask({ limiter, limit, identify: () => '192.0.2.7' }, '4/min')
  const codes = emitted.mock.calls.map(([, told]) => (told as { code?: string }).code)
  emitted.mockRestore()
  expect(codes).toContain('TOLLGATE_ADDRESS')
})

test('it goes before the plan and the limits that identify gives', async () => {
  const limiter = createLimiter({ plans: { pro: '9/min' } })
  const quota = async (subject: object, limits?: string): Promise<unknown> =>
    (await ask({ limiter, limit, identify: () => subject as never }, limits))?.limits[0]?.quota
  expect(await quota({ id: 'acme', plan: 'pro' }, '4/min')).toBe(4)
  expect(await quota({ id: 'acme', limits: '5/min' }, '4/min')).toBe(4)
  expect(await quota({ id: 'acme', limits: '5/min' })).toBe(5)
  expect(await quota({ id: 'acme', plan: 'pro' })).toBe(9)
})

test.each<[what: string, options: RateLimitOptions<Req>, path: string, message: string]>([
  [
    'a default plan without plans',
    { limit, defaultPlan: 'free' },
    'defaultPlan',
    'there are no plans: add plans',
  ],
  ['plans that are missing', { limit, plans: undefined } as never, 'plans', 'got undefined'],
  ['a shed order without plans', { limit, shed: ['free'] }, 'shed', 'free'],
  ['a function that is none of the request', { limit: 5 } as never, 'limit', 'got 5'],
])('%s is refused', (_, options, path, message) => {
  expect(() => createHttpLimiter(adapter, options as never)).toThrow(
    expect.objectContaining({
      code: 'ERR_TOLLGATE_CONFIG',
      path: expect.stringContaining(path),
      message: expect.stringContaining(message),
    }),
  )
})

test('a subject without limits is refused where there are no plans, until there are', async () => {
  const { limiter } = createHttpLimiter(adapter, { limit } as never)
  expect(() => limiter.consume('acme')).toThrow(
    "subject: 'acme' brings no limits, and there are no plans: write { id, limits: ['40/min'] }, or give plans, too",
  )
  expect((await limiter.consume({ id: 'acme', limits: '4/min' })).allowed).toBe(true)
  limiter.setPlans({ free: '9/min' })
  expect((await limiter.consume('acme')).limits[0]?.remaining).toBe(7)
})

test('without HTTP such a function is refused', () => {
  expect(() => createLimiter({ limit: (() => '5/min') as never })).toThrow(
    "limit: pass a function of the request to an adapter's rateLimit; without HTTP a subject brings its limits: limiter.consume({ id, limits: ['40/min'] })",
  )
})
