// Answers of a real Redis that are concluded in another order than Redis gave them: a slot whose answer is still to come counts.
import { once } from 'node:events'
import { eventually, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import type { Limiter, LimiterOptions, RedisClient } from '../../../src/index.js'
import { LateReply, limiterOfTwo, onlyOneMore, warmUp } from './late-replies.js'

let server: RedisServer
const ends: (() => unknown)[] = []
// Another server for each test: one that was just started knows no script.
beforeEach(async () => (server = await startRedis()))
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
  await server.kill()
})

const nodeRedis = (): { socket: { host: string; port: number }; disableOfflineQueue: true } => ({
  socket: { host: '127.0.0.1', port: server.port },
  disableOfflineQueue: true,
})

const clients = {
  ioredis: async () => {
    const client = new Redis(server.port, '127.0.0.1', { autoResendUnfulfilledCommands: false })
    ends.push(() => client.disconnect())
    await once(client, 'ready')
    return client
  },
  'node-redis': async () => {
    const client = await createClient(nodeRedis()).connect()
    ends.push(() => client.destroy())
    return client
  },
  'a pool of node-redis': async () => {
    const client = createClientPool(nodeRedis(), { minimum: 2, maximum: 2 })
    ends.push(() => client.destroy())
    await client.connect()
    return client
  },
} satisfies Record<string, () => Promise<RedisClient>>

function limiterOn(client: RedisClient, options: Partial<LimiterOptions> = {}): Limiter {
  const limiter = limiterOfTwo(client, options)
  ends.push(() => limiter.close())
  return limiter
}

const subject = 'acme'
const limits = [
  ['alone', '2 concurrent'],
  ['beside another limit', ['1000/min', '2 concurrent']],
] as const

describe.each(limits)('requests in flight %s', (_, limit) => {
  const options = { limit } as unknown as Partial<LimiterOptions>

  test.each(['ioredis', 'node-redis'] as const)('%s: a Redis that was just started', async (kind) => {
    const client = await clients[kind]()
    const late = new LateReply(client, 'eval')
    await onlyOneMore(limiterOn(client, options), late, { subject })
  })

  test.each(['ioredis', 'node-redis'] as const)('%s: SCRIPT FLUSH', async (kind) => {
    const client = await clients[kind]()
    const limiter = limiterOn(client, options)
    await warmUp(limiter, subject)
    const operator = await clients.ioredis()
    await operator.script('FLUSH')
    await onlyOneMore(limiter, new LateReply(client, 'eval'), { subject })
  })

  test('a pool of node-redis: a connection whose replies are late', async () => {
    const client = await clients['a pool of node-redis']()
    const limiter = limiterOn(client, options)
    await warmUp(limiter, subject)
    await onlyOneMore(limiter, new LateReply(client, 'evalSha'), { subject })
  })
})

test('a request in one batch with another whose calendar does not include the time of Redis', async () => {
  const client = await clients.ioredis()
  const options = { limit: undefined as never, plans: { month: '1000/month', slots: '2 concurrent' } }
  const slots = { id: subject, plan: 'slots' }
  await warmUp(limiterOn(client, options), slots)
  // Alone, the other request is decided by a script that Redis does not know yet.
  const late = new LateReply(client, 'eval')
  // A store that has no answer of Redis yet goes by the clock of its process.
  const wrong = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 400 * 86_400_000)
  const limiter = limiterOn(client, options)
  const month = limiter.consume({ id: subject, plan: 'month' })
  const decided = onlyOneMore(limiter, late, { subject: slots })
  await new Promise(setImmediate)
  wrong.mockRestore()
  await decided
  expect((await month).allowed).toBe(true)
})

test('a store that answers again before it has answered a request from before it failed', async () => {
  const client = await clients.ioredis()
  const limiter = limiterOn(client)
  await warmUp(limiter, subject)
  const states: string[] = []
  limiter.on('breaker', ({ state }) => states.push(state))
  await onlyOneMore(limiter, new LateReply(client, 'evalsha'), {
    subject,
    meanwhile: async () => {
      const failing = jest.spyOn(client, 'evalsha').mockRejectedValue(new Error('READONLY'))
      while (!states.includes('open')) await limiter.consume(subject)
      failing.mockRestore()
      await eventually(() => states.at(-1) === 'closed')
    },
  })
})
