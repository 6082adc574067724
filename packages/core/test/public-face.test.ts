import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as core from '../src/index.js'

test('what core exports, and nothing by accident', () => {
  expect(Object.keys(core).sort()).toEqual([
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
    'createHttpLimiter',
    'createLimiter',
    'hasLeft',
    'memoryStore',
    'onResponseEnd',
    'redisStore',
    'refuseUpgrade',
    'subjectOfIp',
    'toError',
    'toThrown',
  ])
})

test('docs/errors.md says the same as the table of codes', () => {
  const page = readFileSync(join(__dirname, '../../../docs/errors.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(ERR_\w+)` \| (.+?) \|/gm)].map(([, code, meaning]) => [code, meaning])
  expect(rows).toEqual(Object.entries(core.ERROR_CODES))
})
