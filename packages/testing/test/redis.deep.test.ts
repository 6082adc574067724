import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import {
  findRedisBinary,
  NO_REDIS,
  startRedis,
  testPrefix,
  testRedisUrl,
  type Machine,
  type RedisServer,
} from '../src/index.ts'

const ping = async (url: string): Promise<string> => {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: null,
    commandTimeout: 2000,
    disconnectTimeout: 100,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.ping()
  } finally {
    client.disconnect()
  }
}

describe('the Redis of the run', () => {
  test('answers', async () => {
    expect(await ping(testRedisUrl())).toBe('PONG')
  })

  test('every prefix is new', () => {
    expect(new Set(Array.from({ length: 100 }, testPrefix)).size).toBe(100)
  })
})

describe('a Redis of a test', () => {
  let server: RedisServer | undefined
  afterEach(async () => {
    await server?.stop()
    server = undefined
  })

  test('can be killed, and started again on the same port', async () => {
    server = await startRedis()
    const { port, url } = server
    expect(await ping(url)).toBe('PONG')
    await server.kill()
    await expect(ping(url)).rejects.toThrow()
    server = await startRedis({ port })
    expect([server.url, await ping(url)]).toEqual([url, 'PONG'])
  })

  test('can hang, and go on', async () => {
    server = await startRedis()
    server.pause()
    await expect(ping(server.url)).rejects.toThrow()
    server.resume()
    expect(await ping(server.url)).toBe('PONG')
  })

  test('can be stopped while it hangs, and can be stopped twice', async () => {
    server = await startRedis()
    server.pause()
    await server.stop()
    await server.stop()
    await expect(ping(server.url)).rejects.toThrow()
  })

  test('takes more arguments', async () => {
    server = await startRedis({ args: ['--maxmemory', '1mb'] })
    const client = new Redis(server.url)
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', '1048576'])
    client.disconnect()
  })

  test('rejects when it cannot start', async () => {
    await expect(startRedis({ args: ['--no-such-option', 'x'] })).rejects.toThrow('did not start')
  })
})

describe('finding a server', () => {
  const bare: Machine = { path: '', isRoot: false, hasApt: false, install: () => '' }
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-path-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test.each(['redis-server', 'valkey-server'])('%s on the PATH', (name) => {
    writeFileSync(join(folder, name), '', { mode: 0o755 })
    expect(findRedisBinary({ ...bare, path: `/nowhere:${folder}` })).toBe(join(folder, name))
  })

  test('a file that cannot be executed is not a server', () => {
    writeFileSync(join(folder, 'redis-server'), '', { mode: 0o644 })
    expect(() => findRedisBinary({ ...bare, path: folder })).toThrow(NO_REDIS)
  })

  test.each([
    ['nobody who may install', { hasApt: true }],
    ['root without apt', { isRoot: true }],
  ])('%s: an error with the ways to one, and nothing is installed', (_, machine) => {
    const install = jest.fn()
    expect(() => findRedisBinary({ ...bare, ...machine, install })).toThrow(/REDIS_URL[^]*PATH[^]*Docker/)
    expect(install).not.toHaveBeenCalled()
  })
})
