// The Redis of a run, really killed and really crashed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { eventually } from '../src/index.ts'
import { REDIS_ENDS_VARIABLE, startRedisOfRun } from '../src/redis/redis-of-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-ends-'))
const ends = join(folder, 'ends')
const of = process.env[REDIS_ENDS_VARIABLE]
let redis: Awaited<ReturnType<typeof startRedisOfRun>> | undefined
let client: Redis | undefined
beforeAll(() => {
  process.env[REDIS_ENDS_VARIABLE] = ends
})
afterEach(async () => {
  client?.disconnect()
  await redis?.stop()
  jest.restoreAllMocks()
})
afterAll(() => {
  if (of === undefined) delete process.env[REDIS_ENDS_VARIABLE]
  else process.env[REDIS_ENDS_VARIABLE] = of
  rmSync(folder, { recursive: true, force: true })
})

test.each(['SIGKILL', 'SIGSEGV'] as const)('starts again after %s, and says so', async (signal) => {
  rmSync(ends, { force: true })
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
  redis = await startRedisOfRun()
  client = new Redis(redis.url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  client.on('error', () => {})
  const pidOf = async (): Promise<number> =>
    Number(/process_id:(\d+)/.exec(await client!.info('server'))?.[1])
  const first = await pidOf()
  process.kill(first, signal)
  await eventually(() => expect(readFileSync(ends, 'utf8')).toContain(signal))
  expect(await pidOf()).not.toBe(first)
  const { from, to } = JSON.parse(readFileSync(ends, 'utf8')) as { from: number; to: number }
  expect(to).toBeGreaterThanOrEqual(from)
  const text = said.mock.calls.flat().join('')
  expect(text).toContain(`The Redis of the run ended by ${signal}, and starts again.`)
  expect(text).toContain(signal === 'SIGSEGV' ? 'REDIS BUG REPORT' : 'Ready to accept connections')
})

test('is ended if a script does not, and its log says which', async () => {
  rmSync(ends, { force: true })
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
  redis = await startRedisOfRun({ everyMs: 50, saidAfter: 2, endedAfter: 4 })
  client = new Redis(redis.url, { retryStrategy: () => 50, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  await client.ping()
  await expect(client.eval('while true do end', 0)).rejects.toThrow()
  await eventually(() => expect(readFileSync(ends, 'utf8')).toContain('SIGSEGV'))
  const text = said.mock.calls.flat().join('')
  expect(text).toContain('The Redis of the run does not answer.')
  expect(text).toContain('while true do end')
})

test('a stop is no end to be noted', async () => {
  rmSync(ends, { force: true })
  redis = await startRedisOfRun()
  await redis.stop()
  expect(() => readFileSync(ends, 'utf8')).toThrow('ENOENT')
  redis = undefined
})
