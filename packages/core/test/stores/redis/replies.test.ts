import { inspect } from 'node:util'
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import {
  deployCluster,
  deployOne,
  eventually,
  freePort,
  testPrefix,
  testRedisUrl,
  type Deployment,
} from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, redisStore, StoreError, type Limiter, type RedisClient } from '../../../src/index.js'
import { requestErrorOf, storeErrorOf } from '../../../src/stores/redis/wire/decode.js'

describe('errors of Redis and of clients', () => {
  test.each<[string, StoreError['reason']]>([
    ['NOSCRIPT No matching script. Please use EVAL.', 'script-missing'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'out-of-memory'],
    ['ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed', 'out-of-memory'],
    ["READONLY You can't write against a read only replica.", 'read-only'],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'read-only'],
    ['MISCONF Redis is configured to save RDB snapshots, but it cannot persist on disk', 'read-only'],
    ['NOREPLICAS Not enough good replicas to write.', 'read-only'],
    ['LOADING Redis is loading the dataset in memory', 'loading'],
    ['BUSY Redis is busy running a script. You can only call SCRIPT KILL', 'busy'],
    ['ERR max number of clients reached', 'busy'],
    ['MOVED 3999 127.0.0.1:6381', 'wrong-server'],
    ['ASK 3999 127.0.0.1:6381', 'wrong-server'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'wrong-server'],
    ["ERR unknown command 'evalsha'", 'wrong-server'],
    ['CLUSTERDOWN Hash slot not served', 'cluster-down'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'cluster-down'],
    ['Too many Cluster redirections. Last error: Error: MOVED 1 a:1', 'cluster-down'],
    ['NOAUTH Authentication required.', 'not-permitted'],
    ['ERR Protocol error: unauthenticated multibulk length', 'not-permitted'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'not-permitted'],
    ["NOPERM User app has no permissions to run the 'evalsha' command", 'not-permitted'],
    ["ERR The user executing the script can't run this command or subcommand", 'not-permitted'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'foreign-value'],
    ['Protocol error, got "H" as reply type byte. Please report this.', 'protocol'],
    ['Unknown RESP type 72 "H"', 'protocol'],
    ['The client is closed', 'closed'],
    ['Command timed out', 'timeout'],
    ['Connection is closed.', 'unreachable'],
    ['connect ECONNREFUSED 127.0.0.1:6379', 'unreachable'],
    ['connect ETIMEDOUT', 'unreachable'],
    ['Connection timeout', 'unreachable'],
    ['Socket closed unexpectedly', 'unreachable'],
    ['The client is offline', 'unreachable'],
    ['Reached the max retries per request limit (which is 20).', 'unreachable'],
    ['All the root nodes are unavailable', 'unreachable'],
    ['All sentinels are unreachable. Retrying from scratch after 10ms.', 'unreachable'],
    ['no valid master node', 'unreachable'],
    ['something new', 'unknown'],
  ])('%s', (text, reason) => {
    const cause = new Error(text)
    const error = storeErrorOf(cause)
    expect(error).toMatchObject({ code: 'ERR_TOLLGATE_STORE', reason, cause })
    expect(error.isOfRequest).toBe(reason === 'foreign-value')
    expect(error.message).toMatch(/^\S.+ \(/)
    expect(error.message).toContain(text)
  })

  test('errors without a message are known by their code or class', () => {
    class TimeoutError extends Error {}
    expect(storeErrorOf(new TimeoutError()).reason).toBe('timeout')
    expect(storeErrorOf(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    const all = Object.assign(new Error('Failed to refresh slots cache.'), {
      lastNodeError: new Error('WRONGPASS invalid'),
    })
    expect(storeErrorOf(all)).toMatchObject({
      reason: 'not-permitted',
      message: expect.stringMatching(/\(WRONGPASS invalid\)$/),
    })
    expect(storeErrorOf('obseve client error: Error: connect ECONNREFUSED').reason).toBe('unreachable')
    expect(storeErrorOf(undefined).reason).toBe('unknown')
    const known = new StoreError('x')
    expect(storeErrorOf(known)).toBe(known)
  })

  test("a script error for one request is the fault of that key's value", () => {
    expect(requestErrorOf('user_script:12: attempt to compare number with nil')).toMatchObject({
      reason: 'foreign-value',
      isOfRequest: true,
    })
    expect(requestErrorOf('OOM command not allowed')).toMatchObject({
      reason: 'out-of-memory',
      isOfRequest: false,
    })
  })

  test('a StoreError gets its reason from its code by default', () => {
    const code = 'ERR_TOLLGATE_STORE_TIMEOUT'
    expect(new StoreError('x', { code })).toMatchObject({ reason: 'timeout', isOfRequest: false })
    expect(new StoreError('x', { code: 'ERR_TOLLGATE_CLOSED' }).reason).toBe('closed')
    expect(new StoreError('x').reason).toBe('unknown')
  })
})

describe('real servers', () => {
  let deployment: Deployment
  let operator: Redis
  let client: Redis
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    deployment = await deployOne()
    operator = deployment.operators[0] as Redis
    client = new Redis(deployment.ports[0] as number, {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
  })
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })
  afterAll(async () => {
    client.disconnect()
    await deployment.end()
  })

  async function faultOf(asked: RedisClient, prefix = testPrefix()): Promise<StoreError | undefined> {
    const limiter: Limiter = createLimiter({
      limit: '9/min',
      store: redisStore(asked, { prefix }),
      deadlineMs: 3000,
    })
    let fault: StoreError | undefined
    limiter.on('storeError', (error) => (fault = error))
    await limiter.consume('acme')
    await limiter.close()
    return fault
  }

  test('a replica', async () => {
    await operator.replicaof('127.0.0.1', 1)
    ends.push(() => operator.replicaof('NO', 'ONE'))
    expect(await faultOf(client)).toMatchObject({
      reason: 'read-only',
      message: expect.stringMatching(/connect to the primary.*READONLY/),
    })
  })

  test('a server that is blocked by a script', async () => {
    await operator.config('SET', 'busy-reply-threshold', '10')
    const blocker = new Redis(deployment.ports[0] as number)
    const held = blocker.eval('while true do end', 0).catch(() => {})
    // From then on Redis answers BUSY to every command.
    await eventually(
      () =>
        operator.ping().then(
          () => false,
          () => true,
        ),
      'the server is held up',
    )
    expect((await faultOf(client))?.reason).toBe('busy')
    await operator.script('KILL')
    await held
    blocker.disconnect()
    expect(await faultOf(client)).toBeUndefined()
  })

  test('a server that is not Redis', async () => {
    const port = await freePort()
    const server: Server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    const stranger = new Redis(port, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
    const other = createClient({
      socket: { host: '127.0.0.1', port, reconnectStrategy: 50 },
      disableOfflineQueue: true,
    })
    ends.push(
      () => stranger.disconnect(),
      () => other.destroy(),
      () => server.close(),
    )
    expect((await faultOf(stranger))?.reason).toBe('protocol')
    expect((await faultOf(other))?.reason).toBe('protocol')
  })

  test('one server of a cluster, with a client for a single server', async () => {
    const cluster = await deployCluster()
    const plain = cluster.ports.map(
      (port) => new Redis(port, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }),
    )
    ends.push(
      () => plain.forEach((one) => one.disconnect()),
      () => cluster.end(),
    )
    // With one prefix all ask for one key, which one of the servers has.
    const prefix = testPrefix()
    const answers = await Promise.all(plain.map((one) => faultOf(one, prefix)))
    const faults = answers.filter((fault) => fault !== undefined)
    expect(faults).toHaveLength(plain.length - 1)
    for (const { reason, message } of faults) {
      expect([reason, message]).toEqual(['wrong-server', expect.stringContaining('new Cluster(nodes)')])
    }
  })
})

test('the arguments of the command that failed are not printed with the error: a password, or ids', async () => {
  const { hostname, port } = new URL(testRedisUrl())
  const password = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
  const options = {
    username: 'nobody',
    password,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  }
  const redis = new Redis({ ...options, host: hostname, port: Number(port) })
  // The client's own errors, which have it, are the application's.
  redis.on('error', () => {})
  const limiter = createLimiter({ limit: '5/min', store: redisStore(redis) })
  const told: string[] = []
  limiter.on('storeError', (error) => told.push(inspect(error, { depth: 10, showHidden: true })))
  await eventually(async () => {
    await limiter.consume('acme')
    return told.some((text) => text.includes('WRONGPASS'))
  })
  await limiter.close()
  redis.disconnect()
  for (const text of told) expect(text).not.toContain(password)

  const all = Object.assign(new Error('all failed'), {
    lastNodeError: Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: [password] } }),
  })
  expect(inspect(storeErrorOf(all), { depth: 10 })).not.toContain(password)
})

test('what a server says is shown up to 80 characters, what a client says wholly, and both are the cause', () => {
  const reply = new Error(`OOM ${'x'.repeat(200)}`)
  const { message, cause } = storeErrorOf(reply)
  expect(cause).toBe(reply)
  expect(message).toMatch(/^Redis is full: .* \(OOM x{73}\.\.\.\)$/)
  const ofClient = `All sentinels are unreachable. ${'x'.repeat(80)} Last error: connect ECONNREFUSED`
  expect(storeErrorOf(new Error(ofClient)).message).toContain(`(${ofClient})`)
})
