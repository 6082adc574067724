import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedisBinary } from './binary.ts'
import { tieLifeOf } from './life-line.ts'

export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Stops it like an operator. */
  stop(): Promise<void>
  /** Kills it at once, like a crash (SIGKILL). */
  kill(): Promise<void>
  /** Makes the server hang (SIGSTOP) until `resume`. */
  pause(): void
  resume(): void
}

export interface RedisServerOptions {
  /** Default: a free port. Given: a server can be started again on the port of the last one. */
  readonly port?: number
  /** More arguments for redis-server, such as `['--maxmemory', '1mb']`. */
  readonly args?: readonly string[]
  /** The text of a configuration file that the server may rewrite; a sentinel needs one. */
  readonly config?: string
}

/** A slow machine needs seconds. */
const STARTED_WITHIN_MS = 30_000

/** Starts a real Redis or Valkey server on 127.0.0.1 that stores nothing on disk. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = findRedisBinary()
  const port = options.port ?? (await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-redis-'))
  const args = [
    ...configFile(folder, options.config),
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ]
  const child = spawn(binary, [...args, ...(options.args ?? [])], { stdio: 'ignore' })
  // Tests that forget to stop it must not keep jest running.
  child.unref()
  const cutLifeLine = tieLifeOf(child.pid as number)
  const exited = once(child, 'exit').finally(() => {
    cutLifeLine()
    rmSync(folder, { recursive: true, force: true })
  })
  await Promise.race([
    answersPing(port, child),
    exited.then(() => Promise.reject(new Error(`${binary} did not start`))),
  ])
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    // A paused process would not see SIGTERM.
    child.kill('SIGCONT')
    child.ref()
    await exited
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid as number,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

function configFile(folder: string, text: string | undefined): string[] {
  if (text === undefined) return []
  const file = join(folder, 'server.conf')
  writeFileSync(file, text)
  return [file]
}

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address === 'object' && address) return address.port
  throw new Error('no free port')
}

async function answersPing(port: number, server: ChildProcess): Promise<void> {
  for (const until = Date.now() + STARTED_WITHIN_MS; Date.now() < until; await sleep(20)) {
    if (server.exitCode !== null || (await isAnswering(port))) return
  }
  throw new Error(`Redis on port ${port} did not answer within ${STARTED_WITHIN_MS} ms`)
}

/** Whether a Redis answers PING on this port. */
function isAnswering(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'))
    const settle = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (data) => settle(data.toString().startsWith('+PONG')))
    socket.once('error', () => settle(false))
    socket.setTimeout(2000, () => settle(false))
  })
}
