import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type RedisClient,
  type StoreError,
} from '@tollgate/core'
import { eventually, SOON_MS } from '../../eventually.ts'
import { deployOne, type Deployment } from '../../redis/deployment.ts'
import { SharedServers } from '../../redis/shared-servers.ts'
import { testPrefix } from '../../redis/test-redis.ts'
import { sameAsMemory } from './client-decisions.ts'
import { CLIENT_TROUBLES } from './client-troubles.ts'

/** The settings that tests need; each kind of client translates them to its own options. */
export interface ClientSettings {
  readonly ports: readonly number[]
  readonly username?: string
  readonly password?: string
  readonly database?: number
  readonly keyPrefix?: string
  readonly numbersAsStrings?: boolean
  readonly isLazy?: boolean
}

/** One kind of client, used like in an application: without listeners, and before it is connected. */
export interface ClientKind<Client extends RedisClient> {
  make(settings: ClientSettings): Client
  /** Closes a client like an application does. */
  close(client: Client): unknown
  /** The settings that it does not have. */
  readonly lacks?: readonly (keyof ClientSettings)[]
  /** Starts the servers it connects to. Default: one server. */
  readonly deploy?: () => Promise<Deployment>
}

/** Long, so that a busy machine is not taken for an outage, in ms. */
const DEADLINE_MS = 300
const HOSTILE = ['', '__proto__', 'a\nb\r\nc', '{x}{', '}', '\0\xff', '\ud800', 'é漢😀', '*', 'x'.repeat(1e6)]

/** During an outage an error has one of these reasons. Which one depends on timing. */
const OUTAGE: readonly string[] = ['unreachable', 'timeout']

/** Starts clients and limiters for tests, and ends them. */
class Bench<Client extends RedisClient> {
  readonly #kind: ClientKind<Client>
  readonly #clients: Client[] = []
  readonly #limiters: Limiter[] = []
  readonly #servers: SharedServers

  constructor(kind: ClientKind<Client>) {
    this.#kind = kind
    this.#servers = SharedServers.of(kind.deploy ?? deployOne)
  }

  /** Empty servers, for a test that does not break them. */
  servers(): Promise<Deployment> {
    return this.#servers.get()
  }

  /** Empty servers, for a test that breaks them and puts them right again. */
  async breaking(act: (deployment: Deployment) => Promise<void>): Promise<void> {
    try {
      await act(await this.#servers.get())
    } catch (error) {
      await this.#servers.replace()
      throw error
    }
  }

  connect(settings: ClientSettings): Client {
    const client = this.#kind.make(settings)
    this.#clients.push(client)
    return client
  }

  /** A limiter with 1000 units a minute, and the store errors that it reports. */
  limiter(client: Client, deadlineMs = DEADLINE_MS): { limiter: Limiter; errors: StoreError[] } {
    const store = redisStore(client, { prefix: testPrefix() })
    const limiter = createLimiter({ limit: '1000/min', store, deadlineMs, local: { instances: 1 } })
    const errors: StoreError[] = []
    limiter.on('storeError', (error) => errors.push(error))
    this.#limiters.push(limiter)
    return { limiter, errors }
  }

  async end(): Promise<void> {
    // Limiters first: one whose client is closed would keep trying to use it.
    await Promise.all(this.#limiters.splice(0).map((limiter) => limiter.close()))
    for (const client of this.#clients.splice(0)) await attempt(() => this.#kind.close(client))
  }

  leave(): Promise<void> {
    return this.#servers.leave()
  }
}

/** The requirements for every Redis client, on real servers. Call it once for each kind and version. */
export function clientContract<Client extends RedisClient>(name: string, kind: ClientKind<Client>): void {
  const bench = new Bench(kind)
  const printed: unknown[] = []
  /** The texts of the warnings that the store does not answer. */
  const outages: string[] = []
  /** The texts of the warnings that it decides again. */
  const returns: string[] = []
  const note = (words: string, { code }: { readonly code: string }): void => {
    if (code === 'TOLLGATE_STORE') outages.push(words)
    else if (code === 'TOLLGATE_STORE_BACK') returns.push(words)
    else printed.push(words)
  }
  const has = (setting: keyof ClientSettings): boolean => !kind.lacks?.includes(setting)
  const ifHas = (setting: keyof ClientSettings): ((...args: Parameters<typeof test>) => void) =>
    has(setting) ? test : () => {}

  describe(`client contract: ${name}`, () => {
    beforeEach(() => {
      jest.spyOn(console, 'error').mockImplementation((...words: unknown[]) => void printed.push(words))
      jest.spyOn(process, 'emitWarning').mockImplementation(note as typeof process.emitWarning)
    })
    afterEach(async () => {
      await bench.end()
      jest.restoreAllMocks()
      outages.splice(0)
      returns.splice(0)
      // No "Unhandled error event", and no warning about a setting, since `make` follows the docs.
      expect(printed.splice(0)).toEqual([])
    })
    afterAll(() => bench.leave())

    test('the decisions are those of the memory store', async () => {
      const { ports } = await bench.servers()
      await sameAsMemory(bench.connect({ ports }))
    })

    ifHas('numbersAsStrings')('replies with numbers as strings are understood', async () => {
      const { ports } = await bench.servers()
      await sameAsMemory(bench.connect({ ports, numbersAsStrings: true }))
    })

    test('every id has its own count', async () => {
      const { ports } = await bench.servers()
      const { limiter } = bench.limiter(bench.connect({ ports }), 5000)
      const ids = HOSTILE.filter((id) => id !== '')
      const twice = await Promise.all([...ids, ...ids].map((id) => limiter.consume({ id })))
      expect(twice.map(remainingOf)).toEqual([...ids.map(() => 999), ...ids.map(() => 998)])
    })

    test('scripts that servers have forgotten are sent again, and no request counts twice', async () => {
      const { ports, operators } = await bench.servers()
      const { limiter } = bench.limiter(bench.connect({ ports }), 5000)
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(operators.map((operator) => operator.script('FLUSH')))
        const waves: Promise<Decision>[] = []
        for (let i = 0; i < 100; i += 1) {
          waves.push(...['a', 'b', 'c', 'd'].map(async (id) => limiter.consume(id)))
          if (i % 10 === 0) await new Promise(setImmediate)
        }
        expect(new Set((await Promise.all(waves)).map(({ source }) => source))).toEqual(new Set(['store']))
      }
      expect(remainingOf(await limiter.peek('a'))).toBe(700)
    })

    test('servers that die are used again once they are back, and no request from before counts late', () =>
      bench.breaking(async (deployment) => {
        const { limiter, errors } = bench.limiter(bench.connect(deployment))
        await recovers(limiter)
        const asked = Array.from({ length: 5 }, () => timed(limiter))
        await deployment.kill()
        for (let i = 0; i < 5; i += 1) asked.push(timed(limiter))
        for (const { ms } of await Promise.all(asked)) expect(ms).toBeLessThan(SOON_MS)
        expect(errors.filter(({ reason }) => !OUTAGE.includes(reason))).toEqual([])
        await deployment.restart()
        const since = await recovers(limiter)
        // Requests that this process admitted during the outage are charged, once each.
        await eventually(async () => {
          const left = remainingOf(await limiter.peek('acme'))
          expect(left).toBeGreaterThanOrEqual(1000 - asked.length - since)
        })
      }))

    test('servers that start after the application are used', () =>
      bench.breaking(async (deployment) => {
        await deployment.kill()
        const { limiter } = bench.limiter(bench.connect(deployment))
        const { decision, ms } = await timed(limiter)
        expect([decision.source, ms < SOON_MS]).toEqual(['local', true])
        // There is one warning, however often the client tries to connect.
        await eventually(async () => {
          await limiter.consume('acme')
          expect(outages).toEqual([expect.stringContaining("onStoreFailure: 'local' decides")])
        })
        await deployment.restart()
        await recovers(limiter)
        expect(outages).toHaveLength(1)
        // A request that was sent before the store was given up can be decided before it is asked again.
        const words = /^The store decides again after \d+\.\d s/
        await eventually(() => expect(returns).toEqual([expect.stringMatching(words)]))
      }))

    test('no request waits for servers that hang', () =>
      bench.breaking(async (deployment) => {
        const { limiter, errors } = bench.limiter(bench.connect(deployment))
        await recovers(limiter)
        deployment.pause()
        const answers = await Promise.all(Array.from({ length: 50 }, () => timed(limiter)))
        for (const { decision, ms } of answers) {
          expect([decision.source, ms < SOON_MS]).toEqual(['local', true])
        }
        expect(errors.at(-1)?.reason).toBe('timeout')
        await eventually(async () => {
          await limiter.consume('acme')
          expect(outages).toEqual([expect.stringContaining('did not answer within 300 ms; it hangs')])
        })
        deployment.resume()
        await recovers(limiter)
      }))

    test('a closed client fails at once', async () => {
      const { ports } = await bench.servers()
      const client = bench.connect({ ports })
      const { limiter, errors } = bench.limiter(client)
      await recovers(limiter)
      await kind.close(client)
      // It fails at once: if it waited for the deadline, the reason would be `timeout`.
      await eventually(async () => {
        const { source } = await limiter.consume('acme')
        expect([source, errors.at(-1)?.reason]).toEqual(['local', 'closed'])
      })
    })

    ifHas('isLazy')('a lazy client connects at the first request', async () => {
      const { ports } = await bench.servers()
      const { limiter } = bench.limiter(bench.connect({ ports, isLazy: true }), 5000)
      expect((await limiter.consume('acme')).source).toBe('store')
    })

    ifHas('keyPrefix')('keys begin with the prefix of the client, then that of the store', async () => {
      const { ports, operators } = await bench.servers()
      const { limiter } = bench.limiter(bench.connect({ ports, keyPrefix: 'shop:' }), 5000)
      await limiter.consume('acme')
      const keysOf = async (glob: string): Promise<string[]> =>
        (await Promise.all(operators.map((operator) => operator.keys(glob)))).flat()
      expect(await keysOf('*/[^!]*')).toEqual([expect.stringMatching(/^shop:test:.*\/acme$/)])
      await limiter.reset('acme')
      expect(await keysOf('*/[^!]*')).toEqual([])
      // Those of no subject have it, too.
      expect(await keysOf('*')).toEqual(await keysOf('shop:test:*'))
    })

    ifHas('database')('a database other than the first', async () => {
      const { ports, operators } = await bench.servers()
      const { limiter } = bench.limiter(bench.connect({ ports, database: 3 }), 5000)
      await limiter.consume('acme')
      expect(await operators[0]?.info('keyspace')).toMatch(/db3:keys=\d+/)
      expect(await operators[0]?.info('keyspace')).not.toMatch(/db0/)
    })

    test('a password, and a wrong one', () =>
      bench.breaking(async ({ ports, setPassword }) => {
        await setPassword('secret')
        const { limiter } = bench.limiter(bench.connect({ ports, password: 'secret' }), 5000)
        expect((await limiter.consume('acme')).source).toBe('store')
        const wrong = bench.limiter(bench.connect({ ports, password: 'wrong' }), 5000)
        await eventually(async () => {
          expect((await wrong.limiter.consume('acme')).source).toBe('local')
          expect(wrong.errors.map(({ reason }) => reason)).toContain('not-permitted')
          // Two texts are possible: after its password was refused, a cluster client may try again without one.
          const words = /Redis (refused the username or password|asks for a password)/
          expect(outages).toEqual([expect.stringMatching(words)])
        })
        await bench.end()
        await setPassword('')
      }))

    test.each(CLIENT_TROUBLES)(
      '%s while it is in use: the cause is told, and it is used again',
      (_, trouble) =>
        bench.breaking(async (deployment) => {
          const { begin, end, reasons, words } = trouble
          await deployment.setPassword('first')
          const { limiter, errors } = bench.limiter(bench.connect({ ...deployment, password: 'first' }), 2000)
          await recovers(limiter)
          await begin(deployment)
          await deployment.cutOff()
          await eventually(async () => {
            expect((await limiter.consume('acme')).source).toBe('local')
            expect(outages).toContainEqual(expect.stringMatching(words))
            expect(errors.some(({ reason }) => reasons.includes(reason))).toBe(true)
          })
          await end(deployment)
          await recovers(limiter)
          await bench.end()
          await deployment.setPassword('')
        }),
    )
  })
}

function remainingOf({ limits }: Decision): number | undefined {
  return limits[0]?.remaining
}

async function timed(limiter: Limiter): Promise<{ decision: Decision; ms: number }> {
  const started = performance.now()
  const decision = await limiter.consume('acme')
  return { decision, ms: performance.now() - started }
}

/** Resolves to the number of requests it took until the store decided one. */
async function recovers(limiter: Limiter): Promise<number> {
  let asked = 0
  await eventually(async () => {
    asked += 1
    return (await limiter.consume('acme')).source === 'store'
  }, 'the store decides')
  return asked
}

async function attempt(act: () => unknown): Promise<void> {
  try {
    await act()
  } catch {
    // Already closed, or never open.
  }
}
