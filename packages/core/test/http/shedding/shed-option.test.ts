import { createHttpLimiter, type HttpAdapter } from '../../../src/adapter.js'
import { createLimiter } from '../../../src/index.js'

const adapter = {} as HttpAdapter<object, object>
const plans = { free: '10/min', starter: '100/min', pro: '1000/min' }
const make = (shed: unknown) => () =>
  createHttpLimiter(adapter, { plans, defaultPlan: 'free', shed: shed as never })

test.each([
  [['free', 'starter']],
  [['free', 'starter', 'pro']],
  [{}],
  [false],
  [{ plans: ['free'], maxInFlight: 1, maxDelayMs: 10, exempt: () => true }],
])('%j is taken', (shed) => {
  expect(make(shed)).not.toThrow()
})

test.each([
  [
    true,
    'shed',
    "shed: got true, expected plans in the order in which they are refused, such as ['free', 'starter'], or {} to refuse all plans alike",
  ],
  ['free', 'shed', 'plans in the order'],
  [null, 'shed', 'plans in the order'],
  [[], 'shed', 'to refuse all plans alike write shed: {}'],
  [{ plans: [] }, 'shed.plans', 'to refuse all plans alike write shed: {}'],
  [{ plans: 'free' }, 'shed.plans', 'plans in the order'],
  [[''], 'shed[0]', 'the name of a plan'],
  [['free', 5], 'shed[1]', 'the name of a plan'],
  [['free', 'starter', 'free'], 'shed[2]', 'it is at shed[0] already'],
  [['fre'], 'shed[0]', "expected 'free'"],
  [{ plans: ['starter', 'gold'] }, 'shed.plans[1]', "'free', 'starter', 'pro'"],
  [{ maxInFlight: 0 }, 'shed.maxInFlight', 'from 1 to 1000000'],
  [{ maxInFlight: null }, 'shed.maxInFlight', 'from 1'],
  [{ maxInFlight: Infinity }, 'shed.maxInFlight', 'from 1'],
  [{ maxDelayMs: 9 }, 'shed.maxDelayMs', 'from 10 to 60000'],
  [{ maxDelayMs: '50' }, 'shed.maxDelayMs', 'from 10'],
  [{ exempt: ['/health'] }, 'shed.exempt', 'a function'],
  [{ maxInflight: 5 }, 'shed.maxInflight', 'did you mean maxInFlight?'],
])('%j is refused, and the error says what would be right', (shed, path, text) => {
  expect(make(shed)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path, message: expect.stringContaining(text) }),
  )
})

test('plans of a limiter that is shared are checked, too, and those of a place', () => {
  const limiter = createLimiter({ plans, defaultPlan: 'free' })
  const options = { limiter, shed: ['gold'] }
  expect(() => createHttpLimiter(adapter, options)).toThrow(expect.objectContaining({ path: 'shed[0]' }))
  const http = createHttpLimiter(adapter, { limiter, shed: ['free'] })
  expect(() => http.route({ shed: ['gold'] }, 'config.rateLimit')).toThrow(
    expect.objectContaining({ path: 'config.rateLimit.shed[0]' }),
  )
  expect(() => http.route({ shed: false })).not.toThrow()
})

test('without HTTP it says where it goes', () => {
  expect(() => createLimiter({ plans, shed: ['free'] } as never)).toThrow('rateLimit({ limiter, shed })')
})
