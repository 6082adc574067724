// What was given is described in an error, never dumped: its kind, on one short line, without what is secret.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { inspect } from 'node:util'
import { createHttpLimiter } from '../../src/adapter.js'
import { createLimiter, memoryStore, redisStore, type LimiterOptions } from '../../src/index.js'
import { pathIn, show } from '../../src/base/show.js'

const SECRET = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
const request = new IncomingMessage(new Socket())
request.headers.authorization = `Bearer ${SECRET}`

class Tenant {
  readonly apiKey = SECRET
}

const errorOf = (run: () => unknown): Error => {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

test.each<[given: unknown, shown: string]>([
  [`redis://user:${SECRET}@10.0.0.1:6379`, "'redis://***@10.0.0.1:6379'"],
  [`rediss://:p@ss/${SECRET}@host/0`, "'rediss://***@host/0'"],
  [`:${SECRET}@localhost:6379`, "'***@localhost:6379'"],
  [`default:pa ss/${SECRET}@host`, "'***@host'"],
  ['redis://h:1/0?password=geheim&db=2', "'redis://h:1/0?password=***&db=2'"],
  ['h:1,password=ge,heim', "'h:1,password=***'"],
  ['x_api_key: geheim', "'x_api_key: ***'"],
  [SECRET, "'***'"],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', "'***'"],
  [`${'p'.repeat(5000)}@host`, "'***@host'"],
  ['100/min', "'100/min'"],
  ['f47ac10b-58cc-4372-a567-0e02b2c3d479', "'f47ac10b-58cc-4372-a567-0e02b2c3d479'"],
  [`Bearer ${SECRET}`, "'Bearer ***'"],
  [request, 'an instance of IncomingMessage'],
  [new Date(NaN), 'an invalid Date'],
  [new Date('2026-01-31T10:00Z'), '2026-01-31T10:00:00.000Z'],
  [new Tenant(), 'an instance of Tenant'],
  [new Map([['key', SECRET]]), 'an instance of Map'],
  [Tenant, 'the class Tenant'],
  [{ apiKey: SECRET }, 'an object with apiKey'],
  [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, 'an object with a, b, c, d, e, ...'],
  [{ ['x'.repeat(99)]: 1, id: 2 }, `an object with ${'x'.repeat(24)}, id`],
  [10n, '10n'],
  ['a\u202eb\ud800', "'a?b?'"],
])('%p is shown as %s', (given, shown) => {
  expect(show(given)).toBe(shown)
})

test.each([
  'x'.repeat(10_000),
  { ['x'.repeat(10_000)]: 1, ['y'.repeat(10_000)]: 2, ['z\n'.repeat(10_000)]: 3, ['\u2028'.repeat(99)]: 4 },
  Object.assign(new Error('x'), { name: 'N\n'.repeat(500) }),
  Symbol('s'.repeat(500)),
])('at most 80 characters on one line: %#', (given) => {
  const shown = show(given)
  expect(shown.length).toBeLessThanOrEqual(80)
  expect(shown).not.toMatch(/[\n\u2028]/)
})

test.each([
  ['plans', 'free', 'plans.free'],
  ['', 'limit', 'limit'],
  ['plans', 'a b', "plans['a b']"],
  ['', 'a\nb', "['a?b']"],
  ['plans', 'x'.repeat(200), `plans['${'x'.repeat(75)}...']`],
])('in %j %j stands at %j', (outer, name, path) => {
  expect(pathIn(outer, name)).toBe(path)
})

const limiter = createLimiter({ limit: '5/min' })
const config =
  (options: object): (() => unknown) =>
  () =>
    createLimiter(options as LimiterOptions)

test.each<[what: string, run: () => unknown]>([
  ['a key that identify gave within an object', () => limiter.consume({ id: { key: SECRET } } as never)],
  ['a row', () => limiter.consume({ id: 'acme', key: SECRET } as never)],
  ['an object without an id', () => limiter.consume({ key: SECRET } as never)],
  ['a request', () => limiter.consume(request as never)],
  [
    'one id twice',
    () =>
      createLimiter({ plans: { a: '1/min', b: '2/min' } }).consume([
        { id: SECRET, plan: 'a' },
        { id: SECRET, plan: 'b' },
      ]),
  ],
  ['hashIds that is too short', config({ limit: '5/min', hashIds: SECRET.slice(0, 15) })],
  ['hashIds in an object', config({ limit: '5/min', hashIds: { secret: SECRET } })],
  ['the address of a store', config({ limit: '5/min', store: `redis://u:${SECRET}@h` })],
  ['the address of a client', () => redisStore(`redis://u:${SECRET}@h` as never)],
  ['the address of a client without a scheme', () => redisStore(`default:${SECRET}@h` as never)],
  ['a password alone, as a client', () => redisStore(SECRET as never)],
  ['a key, as a store', config({ limit: '5/min', store: SECRET })],
  ['a key, as identify', () => createHttpLimiter({} as never, { limit: '5/min', identify: SECRET as never })],
  ['a key, as planOf', config({ limit: '5/min', planOf: SECRET })],
  ['options of a client', () => redisStore({ password: SECRET } as never)],
  ['a limit that is an object', config({ limit: { quota: { secret: SECRET }, window: 'min' } })],
  ['a store', () => memoryStore({ maxSubjects: { secret: SECRET } as never })],
])('neither the message nor what is printed of the error has the secret: %s', (_, run) => {
  const error = errorOf(run)
  const printed = inspect(error, { depth: 10, showHidden: true })
  const own = Reflect.ownKeys(error).filter((name) => name !== 'stack')
  expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_TOLLGATE_(CONFIG|SUBJECT)$/) })
  expect(error.cause).toBeUndefined()
  for (const text of [error.message, printed, JSON.stringify(own.map((name) => Reflect.get(error, name)))]) {
    expect(text).not.toContain(SECRET.slice(0, 15))
  }
})

test('what prints an error says its text once, and the problem can still be read', () => {
  const error = errorOf(config({ limit: 100 }))
  expect(inspect(error).split('expected units')).toHaveLength(2)
  expect(Object.keys(error)).toEqual(expect.arrayContaining(['code', 'path']))
  expect(error).toMatchObject({ path: 'limit', problem: expect.stringMatching(/^got 100, expected units/) })
})

test('hashIds that is too short is told by its length', () => {
  expect(config({ limit: '5/min', hashIds: 'short' })).toThrow(
    'hashIds: got a string of 5 characters, expected a secret string of at least 16 characters, such as process.env.ID_SECRET',
  )
})
