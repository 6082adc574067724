// Replies of a real Redis that come late, and what must hold until they do.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type RedisClient,
} from '../../../src/index.js'

type Subject = string | { readonly id: string; readonly plan: string }
type Method = (...args: unknown[]) => Promise<unknown>

/** Holds the reply to the next call of a client's method back: Redis runs it meanwhile. */
export class LateReply {
  hasArrived = false
  readonly #passed: Promise<void>
  #pass = (): void => {}

  constructor(client: object, name: string) {
    const methods = client as Record<string, Method>
    const method = (methods[name] as Method).bind(client)
    this.#passed = new Promise((resolve) => (this.#pass = resolve))
    let calls = 0
    methods[name] = (...args) => ((calls += 1) === 1 ? this.#hold(method(...args)) : method(...args))
  }

  pass(): void {
    this.#pass()
  }

  async #hold(reply: Promise<unknown>): Promise<unknown> {
    await reply
    this.hasArrived = true
    await this.#passed
    return reply
  }
}

/** A limiter that lets two requests run at a time. */
export function limiterOfTwo(client: RedisClient, options: Partial<LimiterOptions> = {}): Limiter {
  return createLimiter({
    ...{ limit: '2 concurrent', store: redisStore(client, { prefix: testPrefix() }), deadlineMs: 10_000 },
    ...{ onStoreFailure: 'closed', local: { instances: 1 }, warnings: false },
    ...options,
  } as LimiterOptions)
}

/** Lets a request run, so that Redis and the client know all that they need to know. */
export async function warmUp(limiter: Limiter, subject: Subject): Promise<void> {
  await eventually(async () => {
    const warm = await limiter.consume(subject)
    warm.release()
    return warm.allowed
  })
  await allFree(limiter, subject)
}

/**
 * Redis lets a first request in, whose answer is late. One more may run beside it.
 *
 * @param meanwhile what happens before the others are sent
 */
export async function onlyOneMore(
  limiter: Limiter,
  late: LateReply,
  { subject, meanwhile = () => {} }: { subject: Subject; meanwhile?: () => unknown },
): Promise<void> {
  const first = limiter.consume(subject)
  await eventually(() => late.hasArrived)
  await meanwhile()
  const others: Decision[] = []
  for (let i = 0; i < 2; i += 1) others.push(await limiter.consume(subject))
  late.pass()
  const all = [await first, ...others]
  expect(all.map(({ allowed, source }) => [allowed, source])).toEqual([
    [true, 'store'],
    [true, 'store'],
    [false, 'store'],
  ])
  for (const decision of all) decision.release()
  await allFree(limiter, subject)
}

async function allFree(limiter: Limiter, subject: Subject): Promise<void> {
  await eventually(async () => expect((await limiter.peek(subject)).limits.at(-1)?.remaining).toBe(2))
}
