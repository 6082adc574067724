// Names of plans are typed from `plans`: the compiler refuses a default plan that there is none of. What the compiler
// refuses at a line is noted there; if it did not, the line itself would be an error.
import { createLimiter, type Limiter, type LimiterOptions, type Subject } from '../../src/index.js'

const plans = { free: '5/min', pro: ['50/s burst 100', '9/h'] } as const

test('a default plan that does not exist is refused by the compiler, and by createLimiter', () => {
  // @ts-expect-error: fre is no plan
  const wrong = (): Limiter => createLimiter({ plans: { free: '5/min', pro: '9/min' }, defaultPlan: 'fre' })
  expect(wrong).toThrow("expected 'free'")
  const limiter = createLimiter({ plans, defaultPlan: 'pro' })
  // @ts-expect-error: gold is no plan
  expect(() => limiter.setPlans({ a: '5/min', b: '6/min' }, { defaultPlan: 'gold' })).toThrow('gold')
  limiter.setPlans({ a: '5/min', b: '6/min' }, { defaultPlan: 'a' })
  expect(limiter.peek('acme')).toMatchObject({ plan: 'a' })
})

test('any name is taken for a subject, and limiters are of one type wherever they go', async () => {
  const typed = createLimiter({ plans, defaultPlan: 'free', warnings: false })
  const subject: Subject = { id: 'acme', plan: 'gold' }
  const name: string = String('pro')
  const given = [
    subject,
    { id: 'b', plan: name },
    { id: 'c', plan: 'pro' },
    { id: 'd', plan: undefined },
    'e',
  ]
  for (const one of given) expect(await typed.consume(one)).toMatchObject({ allowed: true })
  expect(await typed.consume([subject, { id: 'c', plan: 'pro', label: 'user' }])).toMatchObject({
    allowed: true,
  })

  const options: LimiterOptions = { plans: { [name]: '5/min' }, defaultPlan: name }
  const limiters: Limiter[] = [typed, createLimiter(options), createLimiter({ limit: '5/min' })]
  expect(limiters.map((one) => one.stats().pending)).toEqual([0, 0, 0])
  const fromSettings = (settings: Record<string, string>): Limiter => createLimiter({ plans: settings })
  expect(await fromSettings({ free: '5/min' }).consume('acme')).toMatchObject({ plan: 'free' })
})
