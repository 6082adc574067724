import { findBinary } from '../servers/binary.ts'
import { freePort, startServer, type ServerProcess } from '../servers/server-process.ts'

const NO_MEMCACHED = [
  'The tests need a real Memcached, and there is none here. Any of these will do:',
  '  - put memcached on the PATH (the tests start and stop their own),',
  '  - run as root on Debian or Ubuntu, where it can be installed.',
].join('\n')

export interface MemcachedServer extends ServerProcess {
  /** As `memcachedStore` takes it. */
  readonly address: string
}

export interface MemcachedServerOptions {
  /** Default: a free port. Given: a server can be started again on the port of the last one. */
  readonly port?: number
  /** More arguments for memcached, such as `['-m', '1']`. */
  readonly args?: readonly string[]
}

/** The path of a Memcached server. Call it once before several tests start servers: it may install one. */
export function findMemcachedBinary(): string {
  return findBinary({ names: ['memcached'], remedy: NO_MEMCACHED })
}

/** Starts a real Memcached on 127.0.0.1. */
export async function startMemcached(options: MemcachedServerOptions = {}): Promise<MemcachedServer> {
  const port = options.port ?? (await freePort())
  // `-u` is needed where the tests run as root.
  const args = ['-l', '127.0.0.1', '-p', String(port), '-u', 'root', '-t', '2', ...(options.args ?? [])]
  const server = await startServer(
    findMemcachedBinary(),
    { args, port },
    { asks: 'version\r\n', hears: 'VERSION' },
  )
  return { ...server, address: `127.0.0.1:${port}` }
}
