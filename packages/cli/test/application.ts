// An application that counts in the Redis of the run, and operators beside it.
import { createLimiter, redisStore, type Limiter, type LimiterOptions, type Rule } from '@tollgate/core'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { folderWith, tollgate, type Ended } from './command-line.ts'

export const OPTIONS: LimiterOptions = {
  plans: {
    free: ['5/h', { quota: 1000, window: 'month' }],
    pro: [{ quota: 100, window: 'month', overage: true }, '2 concurrent'],
    off: 'blocked',
    staff: 'unlimited',
  },
  defaultPlan: 'free',
}
export const acme = { id: 'acme', plan: 'free' }

/** What commands print for programs, as far as it is looked at here. */
export interface Printed {
  readonly subject: object
  readonly plan: string
  readonly at: string
  readonly limits: readonly { readonly backAt: string; readonly resetMs: number }[]
  readonly usage: readonly { readonly running: object }[]
  readonly rules: readonly object[]
}

type Run = (...args: string[]) => Promise<Ended>

/** Each test has a prefix and a limiter of its own. */
export class Application {
  redis!: Redis
  limiter!: Limiter
  prefix = ''
  /** Where the plans file of the application is. */
  readonly folder = folderWith({ 'tollgate.config.mjs': `export default ${JSON.stringify(OPTIONS)}` })
  /** Where none is. */
  readonly elsewhere = folderWith({})

  constructor() {
    beforeAll(() => {
      this.redis = new Redis(testRedisUrl(), {
        autoResendUnfulfilledCommands: false,
        retryStrategy: () => 50,
      })
    })
    beforeEach(() => {
      this.prefix = testPrefix()
      this.limiter = this.another(OPTIONS)
    })
    afterEach(() => this.limiter.close())
    afterAll(() => {
      this.redis.disconnect()
      this.folder.remove()
      this.elsewhere.remove()
    })
  }

  another(options: LimiterOptions): Limiter {
    const store = redisStore(this.redis, { prefix: this.prefix })
    return createLimiter({ ...options, store, deadlineMs: 10_000, denials: false })
  }

  /** It has had a request, and says so. */
  async beSeen(): Promise<void> {
    await this.limiter.consume({ id: 'somebody', plan: 'staff' })
    await this.limiter.traffic()
  }

  readonly run: Run = (...args) => this.#runIn(this.folder.cwd, args)
  readonly runElsewhere: Run = (...args) => this.#runIn(this.elsewhere.cwd, args)

  #runIn(cwd: string, args: readonly string[]): Promise<Ended> {
    const all = args.includes('--prefix') ? args : [...args, '--prefix', this.prefix]
    return tollgate(all, { env: { REDIS_URL: testRedisUrl() }, cwd })
  }

  async json(...args: string[]): Promise<Printed> {
    const { stdout } = await this.run(...args, '--json')
    return JSON.parse(stdout) as Printed
  }

  async rules(): Promise<Rule[]> {
    const all: Rule[] = []
    for await (const rule of this.limiter.rules()) all.push(rule)
    return all
  }
}
