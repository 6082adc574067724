// Faults of one server, and of the connections to it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { redisStore } from '../../src/index.js'
import type { FaultWorld } from './fault-play.js'
import { LossyProxy, type Way } from './lossy-proxy.js'

/** The server and clients of one fault. Nothing else uses them, so the fault disturbs no other test. */
export interface FaultPlace extends Pick<FaultWorld, 'store' | 'direct'> {
  begin(): Promise<void>
  end(): Promise<void>
  stop(): Promise<void>
}

export interface Fault extends Partial<Pick<FaultWorld, 'losesData' | 'isUnsent' | 'staysDown'>> {
  readonly name: string
  start(): Promise<FaultPlace>
}

const DELAY_MS = 150

class Place implements FaultPlace {
  readonly proxy: LossyProxy
  readonly folder: string
  server: RedisServer
  readonly #client: Redis
  readonly #direct: Redis
  readonly #begin: (place: Place) => unknown
  readonly #end: (place: Place) => unknown

  constructor(folder: string, server: RedisServer, proxy: LossyProxy, [begin, end]: Acts) {
    this.folder = folder
    this.server = server
    this.proxy = proxy
    this.#client = clientOf(proxy.port)
    this.#direct = clientOf(server.port)
    this.#begin = begin
    this.#end = end
  }

  store = (prefix: string): ReturnType<typeof redisStore> => redisStore(this.#client, { prefix })
  direct = (prefix: string): ReturnType<typeof redisStore> => redisStore(this.#direct, { prefix })
  begin = async (): Promise<void> => void (await this.#begin(this))
  end = async (): Promise<void> => void (await this.#end(this))

  async restart(args: readonly string[]): Promise<void> {
    this.server = await startRedis({ port: this.server.port, args })
  }

  async stop(): Promise<void> {
    this.#client.disconnect()
    this.#direct.disconnect()
    this.proxy.close()
    await this.server.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

type Acts = readonly [begin: (place: Place) => unknown, end: (place: Place) => unknown]

function clientOf(port: number): Redis {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => 20,
    disconnectTimeout: 100,
    autoResendUnfulfilledCommands: false,
  })
  client.on('error', () => {})
  return client
}

function place(args: (folder: string) => readonly string[], ...acts: Acts): () => Promise<FaultPlace> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-roads-'))
    const server = await startRedis({ args: args(folder) })
    return new Place(folder, server, await LossyProxy.start(server.port, DELAY_MS), acts)
  }
}

const nothing = (): readonly string[] => []
const kept = (folder: string): readonly string[] => ['--dir', folder, '--appendonly', 'yes']

function by(way: Way): (place: Place) => void {
  return ({ proxy }) => void (proxy.way = way)
}

/** Loses answers (up to eight, for up to 2 s) while the limiter charges the units that it admitted by itself. */
async function loseSome({ proxy }: Place): Promise<void> {
  const before = proxy.met
  proxy.way = 'swallow'
  for (const until = performance.now() + 2000; performance.now() < until && proxy.met < before + 8;) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  proxy.way = 'pass'
}

export const serverFaults: readonly Fault[] = [
  {
    name: 'killed, data kept',
    start: place(
      kept,
      (it) => it.server.kill(),
      (it) => it.restart(kept(it.folder)),
    ),
  },
  {
    name: 'killed, data lost',
    losesData: true,
    start: place(
      nothing,
      (it) => it.server.kill(),
      (it) => it.restart([]),
    ),
  },
  {
    name: 'hangs',
    start: place(
      nothing,
      (it) => it.server.pause(),
      (it) => it.server.resume(),
    ),
  },
  {
    name: 'scripts flushed',
    start: place(
      nothing,
      (it) => ask(it.server.port, 'SCRIPT', 'FLUSH'),
      () => {},
    ),
  },
  { name: 'answers swallowed', start: place(nothing, by('swallow'), by('pass')) },
  { name: 'answers late', start: place(nothing, by('delay'), by('pass')) },
  { name: 'away, then answers lost', isUnsent: true, start: place(nothing, by('refuse'), loseSome) },
]
