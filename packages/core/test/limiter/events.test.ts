import { createLimiter, type Decision, type Limiter } from '../../src/index.js'

let warn: jest.SpyInstance
beforeEach(() => {
  warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => warn.mockRestore())

function usedUp(): Limiter {
  const limiter = createLimiter({ limit: '1/min' })
  void limiter.consume('acme')
  return limiter
}

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('listener')
    },
  ],
  ['rejects', () => Promise.reject(new Error('listener'))],
])('a listener that %s keeps no other from being called, and is told as a warning', async (_, listener) => {
  const limiter = usedUp()
  const heard: Decision[] = []
  limiter.on('limited', () => listener() as void)
  limiter.on('limited', (decision) => heard.push(decision))
  const denied = limiter.consume('acme')
  expect(heard).toEqual([denied])
  await new Promise(setImmediate)
  expect(warn.mock.calls).toEqual([
    [
      expect.stringContaining("'limited' threw: listener"),
      { type: 'TollgateWarning', code: 'TOLLGATE_LISTENER' },
    ],
  ])
})

test('many listeners cause no warning about a leak', () => {
  const limiter = usedUp()
  const listener = jest.fn()
  for (let i = 0; i < 50; i += 1) limiter.on('limited', listener)
  void limiter.consume('acme')
  expect(listener).toHaveBeenCalledTimes(50)
  expect(warn).not.toHaveBeenCalled()
})

test('off removes one listener, even during the event', () => {
  const limiter = usedUp()
  const heard: string[] = []
  const twice = (): unknown => heard.push('twice')
  const leaving = (): void => {
    heard.push('leaving')
    limiter.off('limited', leaving)
  }
  limiter.on('limited', twice).on('limited', twice).on('limited', leaving).on('limited', twice)
  limiter.off('limited', twice).off('limited', () => {})
  void limiter.consume('acme')
  void limiter.consume('acme')
  expect(heard).toEqual(['twice', 'twice', 'leaving', 'twice', 'twice'])
})

test.each(['on', 'off'] as const)('%s refuses what is no event, and what is no function', (method) => {
  const limiter = createLimiter({ limit: '1/min' })
  for (const event of ['typo', '__proto__', undefined, null, Symbol('limited')]) {
    expect(() => limiter[method](event as 'limited', () => {})).toThrow(
      expect.objectContaining({
        code: 'ERR_TOLLGATE_CONFIG',
        path: 'event',
        problem: expect.stringContaining(
          'one of decision, limited, observed, overage, storeError, storeCall, breaker, fallback, reconciliation, evicted, lease, inFlight, waiting, rule, blocked, nearLimit, booked, shed, planError, unknownPlan',
        ),
      }),
    )
  }
  for (const listener of [undefined, null, 'log', {}]) {
    expect(() => limiter[method]('limited', listener as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'listener' }),
    )
  }
})

test('listeners are told the context that consume was given, beside the decision; peek tells nobody', async () => {
  const heard: unknown[] = []
  const limiter = createLimiter({ limit: '1/min' })
  limiter.on('decision', (...args) => heard.push(['decision', ...args.slice(1)]))
  limiter.on('limited', (...args) => heard.push(['limited', ...args.slice(1)]))
  const context = { job: 'export' }
  await limiter.consume('acme', { context })
  await limiter.scope({ group: 'jobs' }).consume(['acme', 'globex'], { context })
  await limiter.consume('acme', { context, cost: 1 })
  await limiter.consume('acme')
  await limiter.peek('acme', { context })
  const told = ['decision', context]
  expect(heard).toStrictEqual([told, told, told, ['limited', context], ['decision'], ['limited']])
})

test.each([null, 'export', 5, () => ({}), Promise.resolve({})])(
  'a context that is %p is refused before anything is taken',
  async (context) => {
    const limiter = createLimiter({ limit: '5/min' })
    expect(() => limiter.consume('acme', { context: context as never })).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'context' }),
    )
    expect((await limiter.peek('acme')).limits).toMatchObject([{ remaining: 5 }])
  },
)
