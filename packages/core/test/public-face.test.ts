import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as adapter from '../src/adapter.js'
import * as core from '../src/index.js'
import { Events, type LimiterEvents } from '../src/limiter/events.js'
import * as store from '../src/store.js'

const USERS = [
  'ConfigError',
  'ERROR_CODES',
  'LimitedError',
  'RATE_LIMIT_HEADERS',
  'StoreError',
  'TollgateError',
  'answerOf',
  'byBearerToken',
  'byHeader',
  'byIp',
  'byJwtClaim',
  'createLimiter',
  'decisionsOf',
  'memoryStore',
  'redisStore',
  'refuseUpgrade',
  'subjectOfIp',
]
const AUTHORS_OF_ADAPTERS = [
  'admitThen',
  'channelOf',
  'createHttpLimiter',
  'hasLeft',
  'onResponseEnd',
  'toError',
  'toThrown',
]
const AUTHORS_OF_STORES = [
  'ConfigError',
  'ID_KEPT_MS',
  'NEVER',
  'StoreError',
  'checkStore',
  'implementations',
  'isOutcome',
  'isRefundAnswer',
  'limitSetOf',
  'memoryStore',
  'refundOf',
  'storeContract',
  'unsupportedBy',
]

describe('what core exports, and nothing by accident', () => {
  test('to users', () => {
    expect(Object.keys(core).sort()).toEqual(USERS)
  })

  test('to authors of adapters, and nothing of it to users', () => {
    expect(Object.keys(adapter).sort()).toEqual(AUTHORS_OF_ADAPTERS)
    expect(AUTHORS_OF_ADAPTERS.filter((name) => USERS.includes(name))).toEqual([])
  })

  test('to authors of stores', () => {
    expect(Object.keys(store).sort()).toEqual(AUTHORS_OF_STORES)
  })
})

test('every event is told on the channel that channelOf names', () => {
  const told = {
    decision: [{}],
    limited: [{}],
    storeError: [{}, 1],
    breaker: [{}],
    fallback: [{}, {}],
    reconciliation: [{}],
    evicted: [1],
    planError: [{}, {}],
    unknownPlan: [{}, ''],
  } satisfies { readonly [Name in keyof LimiterEvents]: unknown[] }
  const heard: string[] = []
  const listener = (_: unknown, channel: string | symbol): void => void heard.push(String(channel))
  const names = Object.keys(told) as (keyof LimiterEvents)[]
  const events = new Events({})
  for (const name of names) subscribe(adapter.channelOf(name), listener)
  for (const name of names) events.emit(name, ...(told[name] as never))
  for (const name of names) unsubscribe(adapter.channelOf(name), listener)
  expect(heard).toEqual(names.map(adapter.channelOf))
  expect(heard).toContain('tollgate:store-error')
})

test('docs/errors.md says the same as the table of codes', () => {
  const page = readFileSync(join(__dirname, '../../../docs/errors.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(ERR_\w+)` \| (.+?) \|/gm)].map(([, code, meaning]) => [code, meaning])
  expect(rows).toEqual(Object.entries(core.ERROR_CODES))
})
