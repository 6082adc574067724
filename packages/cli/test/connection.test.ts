// What an operator meets if the connection, the login, the rights or the kind of server are not right.
import { createServer, type Server } from 'node:net'
import {
  deployCluster,
  deployOne,
  freePort,
  startRedis,
  startSentinel,
  startTlsRedis,
  testPrefix,
  testRedisUrl,
  type Deployment,
} from '@tollgate/testing'
import { at, doctor, folderWith, tollgate, type Ended } from './command-line.ts'

const PASSWORD = 'p@ss:word/1'

let one: Deployment
let cluster: Deployment
const servers: Server[] = []

beforeAll(async () => {
  ;[one, cluster] = await Promise.all([deployOne(), deployCluster()])
})
afterAll(async () => {
  for (const server of servers) server.close()
  await Promise.all([one.end(), cluster.end()])
})

/** A server that is no Redis. It answers each message, or nothing at all. */
async function listening(answer: string | undefined): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => answer !== undefined && socket.write(answer))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `redis://127.0.0.1:${(server.address() as { readonly port: number }).port}`
}

describe('without a Redis that answers', () => {
  test.each([
    [
      'nothing listens',
      async () => `redis://127.0.0.1:${await freePort()}`,
      'Nothing listens at redis://127.0.0.1:',
    ],
    [
      'the host is not known',
      async () => 'redis://no-such-host.invalid:6379',
      'The host of redis://no-such-host.invalid:6379 is not known.',
    ],
    [
      'it speaks HTTP',
      () => listening('HTTP/1.1 400 Bad Request\r\n\r\n'),
      "does not speak Redis's protocol",
    ],
    ['it is silent', () => listening(undefined), 'did not answer in time.'],
  ])('%s: one sentence, what to do, and the exit code 3', async (_, address, says) => {
    const url = await address()
    const { code, stdout, stderr } = await at(url, 'rules')
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr.split('\n')).toHaveLength(3)
    expect(stderr).not.toMatch(/^\s+at /m)
    const { stdout: text } = await at(url, 'rules', '--json')
    expect(JSON.parse(text).error).toMatchObject({ exit: 3, message: expect.stringContaining(says) })
    expect((await doctor(url)).code).toBe(3)
  })
})

describe('a login', () => {
  const url = (login = ''): string => `redis://${login}127.0.0.1:${one.ports[0]}`
  const encoded = encodeURIComponent(PASSWORD)
  beforeAll(() => one.setPassword(PASSWORD))
  afterAll(() => one.setPassword(''))

  test('without a password, with a wrong one, and with the right one', async () => {
    expect(await at(url(), 'rules')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('asks for a password.'),
    })
    const wrong = await at(url(':wrong-one@'), 'rules')
    expect(wrong).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('refused the user name or password.'),
    })
    expect(await at(url(`:${encoded}@`), 'rules')).toMatchObject({ code: 0, stderr: '' })
    const apart = await tollgate(['rules', '--url', url()], { env: { REDIS_PASSWORD: PASSWORD } })
    expect(apart).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    'redis://user:123/s3cr3t@127.0.0.1:6379',
    'redis://user:s3cr3t#s3cr3t@127.0.0.1:6379',
    'redis://user:123?s3cr3t@127.0.0.1:6379',
    'redis://user:123#s3cr3t@127.0.0.1:6379',
    'redis://s3cr3t@127.0.0.1:1',
  ])('shows nothing of a password that is written wrongly: %s', async (url) => {
    const { code, stdout, stderr } = await tollgate(['top'], { env: { REDIS_URL: url } })
    expect(code).not.toBe(0)
    expect(stdout + stderr).not.toMatch(/s3cr3t|123/)
    expect(stderr).toMatch(/^\S.*\.\n/)
  })

  test('never shows the password', async () => {
    const runs = [
      await at(url(':wrong-one@'), 'rules'),
      await at(url(':wrong-one@'), 'doctor'),
      await at(url(`:${encoded}@`), 'doctor', '--json'),
      await at(url(`:${encoded}@`), 'block', 'acme', '--for', '1h', '--prefix', testPrefix()),
      await at(`http://user:${encoded}@host`, 'rules'),
      await at(`not a url ${PASSWORD}`, 'rules'),
      await tollgate(['rules', '--url', url(`:${encoded}@`)]),
    ]
    expect(runs.map(({ code }) => code)).toEqual([3, 3, 0, 0, 2, 2, 2])
    for (const { stdout, stderr } of runs)
      for (const secret of [PASSWORD, encoded, 'wrong-one']) expect(stdout + stderr).not.toContain(secret)
  })

  test('is refused as an argument, with what to do instead', async () => {
    const { code, stderr } = await tollgate(['rules', '--url', url(`:${encoded}@`)])
    expect(code).toBe(2)
    expect(stderr).toContain('Put the URL into the environment variable REDIS_URL')
  })
})

describe('a server that is the wrong one', () => {
  test('a replica: nothing is looked up there, and nothing changed', async () => {
    const { port } = new URL(testRedisUrl())
    await one.order('REPLICAOF', '127.0.0.1', Number(port))
    const url = `redis://127.0.0.1:${one.ports[0]}`
    try {
      for (const command of [['top'], ['show', 'acme'], ['block', 'acme', '--for', '1h']])
        expect(await at(url, ...command)).toMatchObject({
          ...{ code: 3, stdout: '' },
          stderr: `${url} is a replica.\nPass the address of its primary, or --sentinel NAME.\n`,
        })
    } finally {
      await one.order('REPLICAOF', 'NO', 'ONE')
    }
  })

  test('a cluster that does not serve all slots', async () => {
    const server = await startRedis({
      args: ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
    })
    const url = `redis://127.0.0.1:${server.port}`
    try {
      for (const more of [[], ['--cluster']])
        expect(await at(url, 'top', ...more)).toMatchObject({
          code: 3,
          stderr: expect.stringContaining(`${url} is a node of a cluster that does not serve all slots.`),
        })
    } finally {
      await server.kill()
    }
  })

  test('a certificate whose time is over', async () => {
    const server = await startTlsRedis({ isExpired: true })
    const folder = folderWith({ 'ca.pem': server.ca })
    try {
      const surroundings = { env: { REDIS_URL: server.url }, cwd: folder.cwd }
      expect(await tollgate(['top', '--tls-ca', 'ca.pem'], surroundings)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('is not valid now'),
      })
    } finally {
      folder.remove()
      await server.kill()
    }
  })
})

describe('a cluster', () => {
  const urls = (): string => cluster.ports.map((port) => `redis://127.0.0.1:${port}`).join(',')

  test('is used with --cluster', async () => {
    const prefix = testPrefix()
    const blocked = await at(urls(), 'block', 'acme', '--for', '1h', '--cluster', '--prefix', prefix)
    expect(blocked).toMatchObject({ code: 0, stderr: '' })
    expect(blocked.stdout).toContain(`tollgate unblock acme --cluster --prefix ${prefix}`)
    const one = await at(`redis://127.0.0.1:${cluster.ports[1]}`, 'rules', '--cluster', '--prefix', prefix)
    expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining('acme') })
    const { code, of } = await doctor(urls(), '--cluster', '--prefix', prefix)
    expect(code).toBe(0)
    expect(of('cluster')).toMatchObject({
      result: 'ok',
      says: 'It is a cluster of 3 primaries, and all slots are served.',
    })
  })

  test('is known without it, and with it where there is none', async () => {
    const node = `redis://127.0.0.1:${cluster.ports[0]}`
    expect((await doctor(node)).of('cluster')).toMatchObject({
      result: 'failed',
      fix: expect.stringContaining('--cluster'),
    })
    const server = await at(testRedisUrl(), 'rules', '--cluster')
    expect(server).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('answers nothing about a cluster'),
    })
    expect(await at(urls(), 'rules')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Pass --cluster'),
    })
  })
})

test('a primary is found by its sentinels', async () => {
  const sentinel = await startSentinel()
  try {
    const urls = sentinel.sentinels.map(({ port }) => `redis://127.0.0.1:${port}`).join(',')
    const prefix = testPrefix()
    const blocked = await at(
      urls,
      'block',
      'acme',
      '--for',
      '1h',
      '--sentinel',
      sentinel.name,
      '--prefix',
      prefix,
    )
    expect(blocked).toMatchObject({ code: 0, stderr: '' })
    expect((await doctor(urls, '--sentinel', sentinel.name)).of('replication')).toMatchObject({
      says: expect.stringContaining('a primary with one replica'),
    })
    const [first = ''] = urls.split(',')
    expect(await at(first, 'rules')).toMatchObject({
      ...{ code: 3, stderr: expect.stringContaining('is a sentinel, or no Redis') },
    })
    const other = await at(urls, 'rules', '--sentinel', 'nobody')
    expect(other).toMatchObject({ code: 3, stderr: expect.stringContaining('No sentinel names a primary') })
  } finally {
    await sentinel.stop()
  }
})

test('TLS is used with its certificate, and refused without', async () => {
  const server = await startTlsRedis()
  const folder = folderWith({ 'ca.pem': server.ca, 'empty.pem': '' })
  try {
    const run = (...args: string[]): Promise<Ended> =>
      tollgate(args, { env: { REDIS_URL: server.url }, cwd: folder.cwd })
    expect(await run('rules', '--tls-ca', 'ca.pem')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('rules')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('is not trusted here'),
    })
    expect(await run('rules', '--tls-ca', 'empty.pem')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no certificate in PEM'),
    })
    const plain = await at(`redis://127.0.0.1:${server.tlsPort}`, 'rules')
    expect(plain).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/only one side uses TLS|both sides use TLS/),
    })
  } finally {
    folder.remove()
    await server.kill()
  }
})

test('a client prefix and a database are used', async () => {
  const prefix = testPrefix()
  const url = `redis://127.0.0.1:${one.ports[0]}`
  expect(
    (await at(`${url}/3`, 'block', 'acme', '--for', '1h', '--prefix', prefix, '--key-prefix', 'app:')).code,
  ).toBe(0)
  const keys = (await one.operators[0]?.call(
    'eval',
    "redis.call('SELECT', 3) return redis.call('KEYS', '*')",
    0,
  )) as string[]
  expect(keys).toContain(`app:${prefix}/!rules`)
  // A rule alone can be of a command with a mistyped prefix.
  expect((await doctor(`${url}/3`, '--prefix', prefix, '--key-prefix', 'app:')).of('prefix')).toMatchObject({
    ...{ result: 'warning', says: `There is nothing of an application under app:${prefix}/ yet.` },
  })
})
