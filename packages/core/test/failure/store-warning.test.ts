// A store that is not reached is said on stderr, with the cause and what to do: nobody has to listen for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, freePort, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, StoreError, type Limiter } from '../../src/index.js'
import { shardOf } from '../../src/requests/key.js'
import { StoreWarning } from '../../src/limiter/report/reporter.js'
import { failingStore } from '../../src/testing.js'
import { compiledWith } from '../support/compiled.js'
import { closesWithTest, connect, endFaults, server } from '../support/faults.js'
import { clusterStore, idsApart, SHARDS } from '../support/shards.js'
import { asyncStore } from '../support/stores.js'

/** Nobody asks its limiter; it says when its client has failed three times. */
const PROGRAM = `
import { Redis } from 'ioredis'
import { createLimiter, redisStore } from './index.js'

const [address, warnings] = process.argv.slice(2)
const redis = new Redis(address, { autoResendUnfulfilledCommands: false, retryStrategy: () => 20, connectTimeout: 500 })
createLimiter({ limit: '5/min', store: redisStore(redis), warnings: warnings === 'true' })
let failures = 0
redis.on('error', () => (failures += 1) === 3 && console.log('failed'))
`

let folder: string
beforeAll(() => {
  folder = compiledWith(PROGRAM)
})
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(endFaults)

async function withPassword(): Promise<string> {
  const { url, port } = await server()
  await connect(port).config('SET', 'requirepass', 'right')
  return url
}

/** What a process has printed by the time that its client has failed three times. */
async function stderrOf(address: string, warnings: boolean): Promise<string> {
  const child = spawn(process.execPath, [join(folder, 'program.js'), address, String(warnings)])
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += String(data)))
  const exited = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exited])
  // What was written before is read by then.
  child.kill()
  await exited
  return stderr
}

describe('a process whose Redis is not reached, and which nobody asks', () => {
  const addresses: [what: string, address: () => Promise<string>, words: RegExp][] = [
    [
      'refused',
      async () => `redis://127.0.0.1:${await freePort()}`,
      /Redis refused the connection: start it, .*ECONNREFUSED 127.0.0.1:\d+/,
    ],
    ['of an unknown host', async () => 'redis://no-such-host.invalid', /the Redis host was not found/],
    [
      'with a wrong password',
      async () => (await withPassword()).replace('//', '//:wrong@'),
      /Redis refused the username or password of this client: check/,
    ],
    ['with a password that is missing', withPassword, /Redis asks for a password/],
    [
      'spoken to by TLS',
      async () => (await server()).url.replace('redis:', 'rediss:'),
      /Redis cannot be reached: check .* both sides use TLS/,
    ],
  ]

  test.each(addresses)('%s: one line on stderr; with warnings: false none', async (_, addressOf, words) => {
    const address = await addressOf()
    const said = await stderrOf(address, true)
    expect(said.match(/TOLLGATE_STORE/g)).toHaveLength(1)
    expect(said).toMatch(words)
    expect(said).toMatch(/The store (cannot be reached|cannot be used): /)
    expect(said).toContain("onStoreFailure: 'local' decides requests.")
    expect(said).not.toContain('wrong@')
    expect(await stderrOf(address, false)).toBe('')
  })
})

describe('a store that is given up', () => {
  let emitted: jest.SpyInstance
  beforeEach(() => {
    emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  })
  afterEach(async () => {
    // First, since a store that goes on then is told of.
    await endFaults()
    emitted.mockRestore()
  })
  const said = (): string[] => emitted.mock.calls.map(([text]: [string]) => text)
  const gaveUp = (limiter: Limiter): Promise<void> =>
    eventually(async () => {
      await limiter.consume('acme')
      return limiter.health().status === 'degraded'
    })

  test('of the user: its own words, and the policy', async () => {
    const store = failingStore(memoryStore())
    store.down(new Error('disk on fire'))
    const options = { limit: '5/min', store, onStoreFailure: 'closed' } as const
    const silent = closesWithTest(createLimiter({ ...options, warnings: false }))
    await gaveUp(silent)
    await silent.close()
    expect(said()).toEqual([])
    await gaveUp(closesWithTest(createLimiter(options)))
    expect(said()).toEqual([
      "The store cannot be used: the store failed: disk on fire. Until it answers again, onStoreFailure: 'closed' decides requests.",
    ])
  })

  test('a Redis that hangs, after it has answered', async () => {
    const redis = await server()
    const store = redisStore(connect(redis.port), { prefix: testPrefix() })
    const limiter = closesWithTest(createLimiter({ limit: '5/min', store, deadlineMs: 300 }))
    await eventually(async () => (await limiter.consume('acme')).source === 'store')
    redis.pause()
    await gaveUp(limiter)
    expect(said()).toEqual([
      expect.stringMatching(
        /^The store does not answer: .*did not answer within 300 ms; it hangs, is held up/,
      ),
    ])
  })

  test('a Redis that is killed and started again: what was charged is said once, and told by the event', async () => {
    const redis = await server()
    const store = redisStore(connect(redis.port), { prefix: testPrefix() })
    const options = { limit: '500/min', store, deadlineMs: 300, local: { instances: 1 } }
    const limiter = closesWithTest(createLimiter(options))
    const outages: unknown[] = []
    limiter.on('breaker', ({ state, outage }) =>
      outages.push(state === 'closed' ? outage : outage === undefined),
    )
    await eventually(async () => (await limiter.consume('acme')).source === 'store')
    await redis.kill()
    await gaveUp(limiter)
    for (let i = 0; i < 20; i += 1) await limiter.consume(`t${i}`)
    await server({ port: redis.port })
    await eventually(() => limiter.health().status === 'ok')
    const { units, dropped } = limiter.stats().reconciled
    expect(units).toBeGreaterThanOrEqual(20)
    expect(outages).toEqual([true, true, { ms: expect.any(Number), units, dropped }])
    const words = `; ${units} units that were admitted meanwhile were charged.`
    expect(said().slice(1)).toEqual([expect.stringMatching(/^The store decides again after \d+\.\d s; /)])
    expect(said()[1]).toContain(words)
  })

  test('a shard that flaps is told once a minute, and shards that fail together as one outage', async () => {
    const store = failingStore(clusterStore())
    const limiter = closesWithTest(createLimiter({ limit: '50/min', store, local: { instances: 1 } }))
    const ids = idsApart(3)
    const askAll = async (): Promise<unknown> => Promise.all(ids.map(async (id) => limiter.consume(id)))
    for (let round = 0; round < 2; round += 1) {
      for (const id of ids) store.shard(shardOf(id, SHARDS)).down(new Error('gone'))
      await eventually(async () => {
        await askAll()
        return limiter.health().openShards.length === 3
      })
      store.heal()
      await eventually(() => limiter.health().status === 'ok')
    }
    expect(said()).toEqual([
      expect.stringContaining('gone'),
      expect.stringMatching(/^The store decides again after/),
    ])
  })

  test('a client that waits long between tries: the cause is told, not that Redis hangs', async () => {
    const redis = await server()
    const operator = connect(redis.port)
    const client = connect(redis.port, { retryStrategy: () => 1500 })
    const store = redisStore(client, { prefix: testPrefix() })
    // Far longer than Redis needs, and shorter than the client waits.
    const limiter = closesWithTest(createLimiter({ limit: '5/min', store, deadlineMs: 500 }))
    await eventually(async () => (await limiter.consume('acme')).source === 'store')
    const reasons: string[] = []
    limiter.on('storeError', ({ reason }) => reasons.push(reason))
    await operator.config('SET', 'requirepass', 'new')
    await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await gaveUp(limiter)
    // That rules are off may be said first, with the same cause.
    await eventually(() => expect(reasons).toContain('not-permitted'))
    expect(said()).toContainEqual(
      expect.stringMatching(/^The store cannot be used: .*Redis asks for a password/),
    )
    expect(said().filter((text) => text.includes('does not answer'))).toEqual([])
    expect(reasons).not.toContain('timeout')
  })

  test('a store of the user that probes get nothing from', async () => {
    let probes = 0
    const store = asyncStore({
      consume: async () => {
        if (limiter.health().status === 'ok') throw new Error('down')
        probes += 1
        return null as never
      },
    })
    const limiter = closesWithTest(createLimiter({ limit: '5/min', store, warnings: false }))
    const changes: string[] = []
    limiter.on('breaker', ({ state }) => changes.push(state))
    await gaveUp(limiter)
    await eventually(() => probes >= 2)
    expect(changes).toEqual(['open'])
  })
})

/** A warning whose lines are caught, at a time that a test sets. */
function caught(policy: () => 'open'): { lines: string[]; clock: { now: number }; warning: StoreWarning } {
  const lines: string[] = []
  const clock = { now: 0 }
  const warning = new StoreWarning(
    (code, text) => void lines.push(`${code}: ${text}`),
    policy,
    () => clock.now,
  )
  return { lines, clock, warning }
}
const open = (): 'open' => 'open'
const OVER = { ms: 4123, units: 350, dropped: 0 }

test('an outage is told once, and at most once a minute; its end, where its beginning was', () => {
  const { lines, clock, warning } = caught(open)
  const error = new StoreError('getaddrinfo ENOTFOUND app:pass@ss@redis')
  warning.atStart(error)
  clock.now = 59_999
  warning.failed(error)
  expect(lines).toEqual([
    'TOLLGATE_STORE: The store cannot be used: getaddrinfo ENOTFOUND ***@redis. Until it answers again, onStoreFailure: a function decides requests.',
  ])
  warning.over(OVER)
  expect(lines.splice(0)[1]).toBe(
    'TOLLGATE_STORE_BACK: The store decides again after 4.1 s; 350 units that were admitted meanwhile were charged.',
  )
  warning.failed(error)
  warning.over(OVER)
  expect(lines).toEqual([])
  warning.failed(error)
  clock.now = 60_000
  warning.atStart(error)
  expect(lines).toEqual([])
  // An outage that began within the minute is told after it, as long as it lasts.
  warning.failed(error)
  warning.failed(error)
  expect(lines).toHaveLength(1)
  warning.over({ ms: 123_456, units: 0, dropped: 7 })
  expect(lines[1]).toBe('TOLLGATE_STORE_BACK: The store decides again after 123 s; 7 were dropped.')
})

test('in an outage, a reason that somebody has to put right is told as well, each once', () => {
  const { lines, warning } = caught(open)
  for (let i = 0; i < 2; i += 1) {
    warning.failed(new StoreError('lost', { reason: 'unreachable' }))
    warning.failed(new StoreError('late', { reason: 'timeout' }))
    warning.failed(new StoreError('password', { reason: 'not-permitted' }))
    warning.failed(new StoreError('full', { reason: 'busy' }))
  }
  expect(lines).toEqual(['lost', 'password', 'full'].map((text) => expect.stringContaining(`: ${text}`)))
})

test.each<[reason: StoreError['reason'], what: string]>([
  ['unreachable', 'cannot be reached'],
  ['timeout', 'does not answer'],
  ['loading', 'does not answer'],
  ['busy', 'does not answer'],
  ['out-of-memory', 'cannot be used'],
])('what is seen of a store: %s: it %s', (reason, what) => {
  const lines: string[] = []
  const warning = new StoreWarning((_, text) => void lines.push(text), 'local')
  warning.failed(new StoreError('down', { reason }))
  expect(lines).toEqual([expect.stringContaining(`The store ${what}: down`)])
})
