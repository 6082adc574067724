// Warnings of a limiter: said once through Node's process warnings, each with a code, and silenced by `warnings: false`.
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { onceAMinute, type WarningCode } from '../../src/base/warnings.js'
import { createLimiter, memoryStore, type LimiterOptions } from '../../src/index.js'
import { failingStore } from '../../src/testing.js'

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

const boom = (): never => {
  throw new Error('boom')
}
const failing = failingStore(memoryStore())
failing.down()

/** The codes of what was said by then. */
function codes(): string[] {
  return emitted.mock.calls.map(([, { code }]: [string, { code: string }]) => code)
}

const CAUSES: [code: WarningCode, options: LimiterOptions][] = [
  ['TOLLGATE_LISTENER', { limit: '1/min' }],
  ['TOLLGATE_POLICY', { limit: '1/min', store: failing, onStoreFailure: boom }],
]

test.each(CAUSES)('%s is said, and not with warnings: false', async (code, options) => {
  const ask = async (warnings: boolean): Promise<void> => {
    const limiter = createLimiter({ ...options, warnings })
    if (code === 'TOLLGATE_LISTENER') limiter.on('decision', boom)
    await limiter.consume('acme')
    await limiter.close()
  }
  await ask(false)
  expect(codes()).toEqual([])
  await ask(true)
  expect(codes()).toContain(code)
})

test('a listener that throws at each request is told once a limiter, on one short line', async () => {
  for (const limiter of [createLimiter({ limit: '9/min' }), createLimiter({ limit: '9/min' })]) {
    limiter.on('decision', () => {
      throw new Error(`a\n\u001B[31mb${'x'.repeat(1e4)}`)
    })
    for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  }
  expect(codes()).toEqual(['TOLLGATE_LISTENER', 'TOLLGATE_LISTENER'])
  const [[text]] = emitted.mock.calls as [[string]]
  expect(text).toMatch(/^A listener of the event 'decision' threw: a\?\?\[31mbx+\.\.\.$/)
  expect(text.length).toBeLessThan(300)
})

test('an onStoreFailure that rejects is told once, and local is used', async () => {
  const unhandled = jest.fn()
  process.on('unhandledRejection', unhandled)
  const onStoreFailure = (async () => Promise.reject(new Error('policy'))) as never
  const limiter = createLimiter({ limit: '9/min', store: failing, onStoreFailure })
  for (let i = 0; i < 4; i += 1) expect((await limiter.consume('acme')).source).toBe('local')
  await new Promise(setImmediate)
  await limiter.close()
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
  expect(codes().filter((code) => code === 'TOLLGATE_POLICY')).toHaveLength(1)
})

test('a refundWhen that throws at each request is told once', async () => {
  const ends: (() => void)[] = []
  const adapter = {
    ip: () => '192.0.2.1',
    method: () => 'GET',
    header: () => undefined,
    isSent: () => true,
    attach: () => {},
    onEnd: (_: object, end: () => void) => void ends.push(end),
  } as unknown as HttpAdapter<object, object>
  const limit = createHttpLimiter<object, object>(adapter, {
    limiter: createLimiter({ limit: '9/min' }),
    refundWhen: boom,
  })
  for (let i = 0; i < 3; i += 1) await limit.admit({}, {})
  for (const end of ends) (end as (end: object) => void)({ status: 500 })
  await new Promise(setImmediate)
  expect(codes()).toEqual(['TOLLGATE_REFUND'])
})

test('a limiter that is silent does not keep others of the process from telling of a proxy', async () => {
  const adapter = {
    framework: 'framework of this test',
    trustSetting: 'a setting',
    trustsProxy: () => false,
    ip: () => '192.0.2.1',
    method: () => 'GET',
    header: (_: object, name: string) => (name === 'x-forwarded-for' ? '192.0.2.9' : undefined),
    hasLeft: () => false,
    isSent: () => true,
    attach: () => {},
  } as unknown as HttpAdapter<object, object>
  for (const warnings of [false, true, true]) {
    const limiter = createLimiter({ limit: '9/min', warnings })
    await createHttpLimiter<object, object>(adapter, { limiter }).admit({}, {})
  }
  expect(codes()).toEqual(['TOLLGATE_PROXY'])
})

test('a store and hashIds that are given as undefined are told once a process, and not by a silent limiter', () => {
  const missing = { limit: '9/min', store: undefined, hashIds: undefined }
  createLimiter({ limit: '9/min' })
  createLimiter({ ...missing, warnings: false })
  expect(codes()).toEqual([])
  for (let i = 0; i < 3; i += 1) createLimiter(missing)
  expect(codes()).toEqual(['TOLLGATE_UNDEFINED', 'TOLLGATE_UNDEFINED'])
  const texts = emitted.mock.calls.map(([text]: [string]) => text)
  expect(texts).toEqual([
    'The option store is undefined, so each process counts in its own memory. If you mean that, write store: memoryStore().',
    'The option hashIds is undefined, so ids reach the store as they are. If you mean that, leave hashIds out.',
  ])
})

test('each code comes through once a minute', () => {
  let nowMs = 0
  const said: string[] = []
  const rarely = onceAMinute(
    (code, text) => said.push(`${code} ${text}`),
    () => nowMs,
  )
  for (const at of [0, 59_999, 60_000, 60_001]) {
    nowMs = at
    rarely('TOLLGATE_LISTENER', String(at))
    if (at > 0) rarely('TOLLGATE_REFUND', String(at))
  }
  expect(said).toEqual(['TOLLGATE_LISTENER 0', 'TOLLGATE_REFUND 59999', 'TOLLGATE_LISTENER 60000'])
})

test('what planOf threw is one short line of the error', async () => {
  const errors: string[] = []
  const planOf = (): never => {
    throw new Error(`a\nb${'x'.repeat(1e4)}`)
  }
  const limiter = createLimiter({ plans: { free: '1/min' }, defaultPlan: 'free', planOf })
  limiter.on('planError', ({ message }) => errors.push(message))
  await limiter.consume('acme')
  expect(errors).toEqual([expect.stringMatching(/^planOf failed: a\?bx{234}\.\.\.$/)])
})
