import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { testRedisUrl } from '../src/index.ts'

const folder = resolve(__dirname, '../../../examples')
/** Tested elsewhere: `npm start -- --once` runs the demo, and two-instances does not end by itself. */
const TESTED_ELSEWHERE = ['demo', 'two-instances']
const names = readdirSync(folder).filter(
  (name) => !TESTED_ELSEWHERE.includes(name) && existsSync(join(folder, name, 'src/main.js')),
)

test('there are examples to try', () => {
  expect(names).toEqual(
    expect.arrayContaining([
      'saas-express',
      'saas-fastify',
      'saas-koa',
      'plans-from-a-database',
      'graphql-cost',
    ]),
  )
})

describe.each(names)('the example %s', (name) => {
  test.each([
    ['memory', {}],
    ['Redis', { REDIS_URL: testRedisUrl() }],
  ])('sees what it should, in %s', async (_, redis) => {
    const { REDIS_URL: _own, ...env } = process.env
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(folder, name, 'src/main.js'), '--once'],
      {
        env: { ...env, ...redis },
        timeout: 30_000,
      },
    )
    expect(stdout).toMatch(/(^ok .*\n)+All as it should be\.\n$/m)
    expect(stdout).not.toContain('WRONG')
  })
})
