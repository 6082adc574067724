import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as adapter from '../src/adapter.js'
import * as browser from '../src/browser.js'
import { keepSilent, WARNING_CODES } from '../src/base/warnings.js'
import * as core from '../src/index.js'
import { Events, type LimiterEvents } from '../src/limiter/report/events.js'
import * as store from '../src/store.js'
import * as testing from '../src/testing.js'

const USERS = [
  'ConfigError',
  'ERROR_CODES',
  'LimitedError',
  'RATE_LIMIT_HEADERS',
  'StoreError',
  'TollgateError',
  'byBearerToken',
  'byHeader',
  'byIp',
  'byJwtClaim',
  'createLimiter',
  'decisionsOf',
  'denialReferences',
  'memoryStore',
  'readPlans',
  'redisStore',
  'refuseUpgrade',
  'subjectForIp',
  'toHttpResponse',
]
const BROWSERS = [
  'ConfigError',
  'ERROR_CODES',
  'StoreError',
  'TollgateError',
  'createLimitSet',
  'createLimiter',
  'memoryStore',
  'toHttpResponse',
]
const AUTHORS_OF_ADAPTERS = [
  'REDIS_COMMANDS',
  'REDIS_COMMANDS_FOR_RULES',
  'admitThen',
  'areIdsHashed',
  'atCaller',
  'channelFor',
  'createHttpLimiter',
  'createUsage',
  'groupForRoute',
  'hasLeft',
  'internalsOf',
  'isHiddenId',
  'needOptions',
  'noteHttp',
  'onResponseEnd',
  'processWide',
  'thrownText',
  'toError',
  'toThrown',
  'warn',
  'watchIdentity',
  'within',
]
const AUTHORS_OF_STORES = [
  'ConfigError',
  'EARLIEST',
  'ID_KEPT_MS',
  'INSTANCE_KEPT_MS',
  'KEPT_UNDER_TEST_CLOCK_MS',
  'MOST_ENTRIES_A_REPLY',
  'MOST_RULES',
  'NEVER',
  'SLOTS_KEPT_MS',
  'StoreError',
  'VERSIONS_KNOWN',
  'atCaller',
  'billedSet',
  'checkStore',
  'createLimitSet',
  'createLimitSetFor',
  'implementations',
  'isOutcome',
  'isRefundAnswer',
  'memoryStore',
  'needClock',
  'refundByKey',
  'refundOf',
  'spaceOf',
  'unsupportedBy',
  'warn',
]

const TESTS = [
  'createTestLimiter',
  'expectAllowed',
  'expectDenied',
  'expectRemaining',
  'failingStore',
  'testClock',
  'tollgateMatchers',
]

describe('core exports what is listed here, and nothing by accident', () => {
  test('for users', () => {
    expect(Object.keys(core).sort()).toEqual(USERS)
  })

  test('for authors of adapters, and none of that for users', () => {
    expect(Object.keys(adapter).sort()).toEqual(AUTHORS_OF_ADAPTERS)
    expect(AUTHORS_OF_ADAPTERS.filter((name) => USERS.includes(name))).toEqual([])
  })

  test('for authors of stores', () => {
    expect(Object.keys(store).sort()).toEqual(AUTHORS_OF_STORES)
  })

  test('for tests of applications, and none of that for users', () => {
    expect(Object.keys(testing).sort()).toEqual(TESTS)
    expect(TESTS.filter((name) => USERS.includes(name))).toEqual([])
  })

  test('for browsers, and all of that in Node, too', () => {
    expect(Object.keys(browser).sort()).toEqual(BROWSERS)
    expect({ ...store, ...core }).toMatchObject(browser)
  })
})

test('every event is published on the channel that channelFor names', () => {
  const told = {
    decision: [{}],
    limited: [{}],
    storeError: [{}, 1],
    storeCall: [{}],
    breaker: [{}],
    observed: [{}, {}],
    overage: [{}, {}],
    fallback: [{}, {}],
    reconciliation: [{}],
    evicted: [1],
    lease: [{}],
    inFlight: [{}],
    rule: [{}],
    waiting: [{}],
    blocked: [{}],
    nearLimit: [{}],
    booked: [{}],
    shed: [{}],
    planError: [{}, {}],
    unknownPlan: [{}, ''],
  } satisfies { readonly [Name in keyof LimiterEvents]: unknown[] }
  const heard: string[] = []
  const listener = (_: unknown, channel: string | symbol): void => void heard.push(String(channel))
  const names = Object.keys(told) as (keyof LimiterEvents)[]
  const events = new Events({}, keepSilent)
  for (const name of names) subscribe(adapter.channelFor(name), listener)
  for (const name of names) events.emit(name, ...(told[name] as never))
  for (const name of names) unsubscribe(adapter.channelFor(name), listener)
  expect(heard).toEqual(names.map(adapter.channelFor))
  expect(heard).toContain('tollgate:store-error')
})

test.each([
  ['errors', /^\| `(ERR_\w+)` \| (.+?) \|/gm, core.ERROR_CODES],
  ['warnings', /^\| `(TOLLGATE_\w+)` \| (.+?) \|/gm, WARNING_CODES],
])('docs/reference/errors.md says the same of %s as the table of codes', (_, row, codes) => {
  const page = readFileSync(join(__dirname, '../../../docs/reference/errors.md'), 'utf8')
  const rows = [...page.matchAll(row)].map(([, code, meaning]) => [code, meaning])
  expect(rows).toEqual(Object.entries(codes))
})

test('every process warning goes by `warn`, so that it has a code', () => {
  const packages = join(__dirname, '../..')
  const published = ['core', 'express', 'fastify', 'koa', 'metrics', 'store-contract']
  const sources = published.flatMap((name) =>
    readdirSync(join(packages, name, 'src'), { recursive: true }).map((file) =>
      join(name, 'src', String(file)),
    ),
  )
  const direct = sources.filter(
    (file) => file.endsWith('.ts') && readFileSync(join(packages, file), 'utf8').includes('emitWarning('),
  )
  expect(direct).toEqual(['core/src/base/platform.ts'])
})
