import { createLimiter } from '../../src/index.js'

const HIDDEN = ['a\nb', 'a\u0000', '\u001b[31mred', '\u202Eorp', '\u2066pro', 'a\u2028b', 'a\u0085', '\uD800']
const SHOWN = ['pro', 'Größe L', '专业版', 'פרו', 'team 👩‍💻', 'می‌خواهم', '"quoted"']

const code = 'ERR_TOLLGATE_CONFIG'

test.each(HIDDEN)('a plan or limit %j is refused, since clients are told its name', (name) => {
  expect(() => createLimiter({ plans: { [name]: '1/min' } })).toThrow(expect.objectContaining({ code }))
  expect(() => createLimiter({ limit: { quota: 1, window: 'min', name } })).toThrow(
    expect.objectContaining({ code, path: 'limit.name' }),
  )
  const limiter = createLimiter({ plans: { free: '1/min' } })
  expect(() => limiter.setPlans({ free: '1/min', [name]: '2/min' })).toThrow(
    'the name of this plan cannot be shown: write one without control characters',
  )
})

test.each(SHOWN)('%j is a name in its language', (name) => {
  expect(() => createLimiter({ plans: { [name]: { quota: 1, window: 'min', name } } })).not.toThrow()
})
