// The Redis of a run, and its figures.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'

/**
 * Uses the server at REDIS_URL, or else starts one on a free port that keeps nothing on disk.
 *
 * @returns `{ url, stop, pid }`; `pid` only of a server started here, and only that one is ended by `stop`, or when
 *   this process exits
 * @throws when the database at REDIS_URL is not empty
 */
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
  return { url: `redis://127.0.0.1:${port}`, stop, pid: child.pid }
}

/** A signal alone would end the process without its `exit` event, and leave its servers behind. */
export function exitOnSignals() {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

const numberIn = (info, field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0)

/** What the server has done so far: `cpuUs` of CPU time, `bytesIn` and `bytesOut` of all connections. */
export async function serverWork(client) {
  const info = `${await client.info('cpu')}\n${await client.info('stats')}`
  return {
    cpuUs: (numberIn(info, 'used_cpu_user') + numberIn(info, 'used_cpu_sys')) * 1e6,
    bytesIn: numberIn(info, 'total_net_input_bytes'),
    bytesOut: numberIn(info, 'total_net_output_bytes'),
  }
}

/** The commands that a contender sends; commands inside a script are counted by Redis on their own as well. */
const SENT = /^cmdstat_(?:evalsha|eval|fcall|incr):calls=(\d+),usec=(\d+)/gm

/** @returns the commands of `work`, and the µs that Redis took for them, without reading and writing the sockets */
export async function commandsOf(monitor, work) {
  await monitor.config('RESETSTAT')
  await work()
  const found = [...(await monitor.info('commandstats')).matchAll(SENT)]
  const sum = (field) => found.reduce((all, one) => all + Number(one[field]), 0)
  return { calls: sum(1), us: sum(2) }
}

/** @returns the µs that Redis took for the commands of `work` */
export async function commandUs(monitor, work) {
  return (await commandsOf(monitor, work)).us
}

/** @returns bytes */
export async function usedMemory(client) {
  return numberIn(await client.info('memory'), 'used_memory')
}

export async function serverVersion(client) {
  return /^redis_version:(\S+)/m.exec(await client.info('server'))[1]
}
