import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { testRedisUrl } from '../src/index.ts'

const folder = resolve(__dirname, '../../../examples')
/** The demo is run by `npm start -- --once`, and two instances stay up. */
const OTHERWISE = ['demo', 'two-instances']
const names = readdirSync(folder).filter(
  (name) => !OTHERWISE.includes(name) && existsSync(join(folder, name, 'src/main.js')),
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

describe('the words of the demo', () => {
  /** What `explain` says of two bursts that were so long apart. */
  const explain = async (ms: number): Promise<string> => {
    const tenant = { log: [], limited: 0 }
    const bursts = { before: 99, after: 42, later: 100, ms }
    const seen = {
      free: bursts,
      fixed: bursts,
      polite: { sent: 1, limited: 0 },
      pro: { burst: 107, limitedAtHalf: 0 },
    }
    const given = [{ free: tenant, starter: tenant, pro: tenant }, seen, 6000]
    const story = pathToFileURL(join(folder, 'demo/src/story.js')).href
    const program = `import { explain } from '${story}'
      console.log(explain(...${JSON.stringify(given)}).join('\\n'))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    return stdout
  }

  test('add up', async () => {
    const words = await explain(500)
    expect(words).toContain('99 + 42 = 141 requests within 5 s')
    expect(words).toContain('the burst of 100, and 7 that came back')
    expect(words).toContain('100 + 6 x 50 = 400')
    expect(words).not.toContain('busy')
  })

  test('say when the machine was too busy for its numbers', async () => {
    expect(await explain(2000)).toContain('This machine was busy')
  })
})
