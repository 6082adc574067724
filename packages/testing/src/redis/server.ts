import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isAnswering, startServer, type ServerProcess } from '../servers/server-process.ts'
import { findRedisBinary } from './binary.ts'

export { freePort } from '../servers/server-process.ts'

export interface RedisServer extends ServerProcess {
  readonly url: string
}

export interface RedisServerOptions {
  /** Default: a free port. Given: a server can be started again on the port of the last one. */
  readonly port?: number
  /** More arguments for redis-server, such as `['--maxmemory', '1mb']`. */
  readonly args?: readonly string[]
  /** The text of a configuration file that the server may rewrite; a sentinel needs one. */
  readonly config?: string
  /** Called when the server has ended, with the signal or the exit code that ended it. */
  readonly onExit?: (how: string) => void
}

const GREETING = { asks: 'PING\r\n', hears: '+PONG' }

/** Whether it takes a new client and answers it within 2 s: it does not while it hangs, or a script runs for seconds. */
export function isAnsweringRedis(port: number): Promise<boolean> {
  return isAnswering(port, GREETING)
}

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
    ...(options.args ?? []),
  ]
  const onExit = (how: string): void => {
    rmSync(folder, { recursive: true, force: true })
    options.onExit?.(how)
  }
  const server = await startServer(binary, { args, port, onExit }, GREETING)
  return { ...server, url: `redis://127.0.0.1:${port}` }
}

function configFile(folder: string, text: string | undefined): string[] {
  if (text === undefined) return []
  const file = join(folder, 'server.conf')
  writeFileSync(file, text)
  return [file]
}
