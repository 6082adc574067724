// The Redis of a run: REDIS_URL, else a server of its own on a free port that keeps nothing on disk.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'

/** Resolves with the URL, and what ends the server. */
export async function startRedis() {
  if (process.env.REDIS_URL) return { url: process.env.REDIS_URL, stop: () => {} }
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
  process.once('exit', () => child.kill())
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { retryStrategy: () => 50 })
  client.on('error', () => {})
  await client.ping()
  client.disconnect()
  return { url, stop: () => child.kill() }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** CPU time the server has used, in µs. */
export async function serverCpuUs(client) {
  const info = await client.info('cpu')
  const read = (field) => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)[1])
  return (read('used_cpu_user') + read('used_cpu_sys')) * 1e6
}

export async function usedMemory(client) {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1])
}

export async function serverVersion(client) {
  return /redis_version:(\S+)/.exec(await client.info('server'))[1]
}
