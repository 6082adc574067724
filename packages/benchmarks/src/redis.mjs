// The Redis of a run, and its figures.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'

/** Uses REDIS_URL, else starts a server on a free port. Resolves to the URL, a function that stops it, and its pid. */
export async function startRedis() {
  const given = process.env.REDIS_URL
  const redis = given ? { url: given, stop: () => {} } : await spawnRedis()
  const client = new Redis(redis.url, {
    retryStrategy: () => 50,
    maxRetriesPerRequest: 100,
    autoResendUnfulfilledCommands: false,
  })
  // Connection errors are normal at first; the command below fails if they last.
  client.on('error', () => {})
  const keys = await client.dbsize()
  client.disconnect()
  // The benchmark calls FLUSHDB before each measurement, so refuse a database with data.
  if (keys > 0)
    throw new Error(`REDIS_URL holds ${keys} keys, and a benchmark empties it: give an empty database`)
  return redis
}

async function spawnRedis() {
  const port = await freePort()
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    tmpdir(),
  ]
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  child.once('error', () => {
    throw new Error('The benchmarks need a Redis: set REDIS_URL, or put redis-server on the PATH.')
  })
  const stop = () => child.kill()
  process.once('exit', stop)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  return { url: `redis://127.0.0.1:${port}`, stop, pid: child.pid }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** CPU time that the server has used, in µs. */
export async function serverCpuUs(client) {
  const info = await client.info('cpu')
  const read = (field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)[1])
  return (read('used_cpu_user') + read('used_cpu_sys')) * 1e6
}

/** @returns bytes */
export async function usedMemory(client) {
  return Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))[1])
}

export async function serverVersion(client) {
  return /^redis_version:(\S+)/m.exec(await client.info('server'))[1]
}
