// A message with an id whose script Redis stops half-way counts once, as soon as Redis lets it.
import { Redis } from 'ioredis'
import { redisStore, type Store } from '../../../src/index.js'
import { createLimitSet } from '../../../src/plans/limit/limit.js'
import { COMMANDS } from '../../../src/stores/redis/reactions.js'
import { connect, endFaults, endsWithTest, server } from '../../support/faults.js'
import { outcomeOf, receiptsOf, requestOf } from '../../support/store-requests.js'

afterEach(endFaults)

// A bucket is overwritten with SETRANGE, and the entries of a log with SET.
const BUCKET = createLimitSet({ quota: 100, window: '1d', algorithm: 'token-bucket' })
const LOG = createLimitSet('100/d')
const TAKEN = 5

interface Bench {
  /** Counts as a user who can lack commands. */
  readonly store: Store
  forbid(...commands: readonly string[]): Promise<unknown>
  allowAll(): Promise<unknown>
  /** Sets `maxmemory`, in bytes; 0 is no limit. */
  hold(bytes: number): Promise<unknown>
  /** The used units of the bucket and of the log. */
  used(): Promise<readonly number[]>
  /** Sends the message with units of the bucket, or of the log and then of the bucket. */
  send(id: string, subjects: 'one' | 'both'): Promise<unknown>
}

type Message = (store: Store, id: string, subjects: 'one' | 'both') => Promise<unknown>

async function bench(makeMessage: (operator: Store) => Promise<Message>): Promise<Bench> {
  const { port } = await server()
  const operator = connect(port)
  const all = COMMANDS.map((command) => `+${command}`)
  const allow = (...more: readonly string[]): Promise<unknown> =>
    operator.acl('SETUSER', 'tollgate', 'reset', 'on', '>secret', 'allkeys', '-@all', ...all, ...more)
  await allow()
  const settings = { autoResendUnfulfilledCommands: false, enableReadyCheck: false, retryStrategy: () => 50 }
  const user = new Redis(port, '127.0.0.1', { username: 'tollgate', password: 'secret', ...settings })
  endsWithTest(user)
  const [store, own] = [redisStore(user), redisStore(operator)]
  const message = await makeMessage(own)
  const usedOf = async (key: string, set: typeof LOG): Promise<number> =>
    100 - ((await outcomeOf(own, requestOf(key, set), 'peek')).limits[0]?.remaining ?? 0)
  return {
    store,
    forbid: (...commands) => allow(...commands.map((command) => `-${command}`)),
    allowAll: () => allow(),
    hold: (bytes) => operator.config('SET', 'maxmemory', bytes),
    used: async () => [await usedOf('bucket', BUCKET), await usedOf('log', LOG)],
    send: (id, subjects) => message(store, id, subjects),
  }
}

/** A refund of one unit. */
async function refunds(operator: Store): Promise<Message> {
  const bucket = await outcomeOf(operator, requestOf('bucket', BUCKET, TAKEN))
  const log = await outcomeOf(operator, requestOf('log', LOG, TAKEN))
  const ofBucket = { key: 'bucket', set: BUCKET, receipts: receiptsOf(bucket, 1) }
  const ofLog = { key: 'log', set: LOG, receipts: receiptsOf(log, 1) }
  return async (store, id, subjects) => {
    const parts = subjects === 'one' ? [ofBucket] : [ofLog, ofBucket]
    return (await store.refund([{ shard: 0, id, parts }]))[0]
  }
}

/** A charge of one unit. */
async function charges(operator: Store): Promise<Message> {
  await outcomeOf(operator, requestOf('bucket', BUCKET, TAKEN))
  await outcomeOf(operator, requestOf('log', LOG, TAKEN))
  const used = [[{ units: 1, ageUs: 0 }]]
  const ofBucket = { key: 'bucket', set: BUCKET, cost: 1, used }
  const ofLog = { key: 'log', set: LOG, cost: 1, used }
  return async (store, id, subjects) => {
    const parts = subjects === 'one' ? [ofBucket] : [ofLog, ofBucket]
    return (await store.consume([{ shard: 0, grant: 'force', id, parts }]))[0]
  }
}

const MESSAGES = [
  ['a refund', refunds, -1],
  ['a charge', charges, 1],
] as const

describe.each(MESSAGES)('%s', (_, makeMessage, units) => {
  const refused = expect.objectContaining({ reason: 'not-permitted', isOfRequest: false })

  test.each(['set', 'setrange'])('that may not %s changes nothing, and then counts once', async (command) => {
    const { send, used, forbid, allowAll } = await bench(makeMessage)
    // A page of refunds that is there, and the scripts.
    await send('id-00', 'one')
    await forbid(command)
    for (let i = 0; i < 3; i += 1) expect(await send('id-01', 'one')).toEqual(refused)
    expect(await used()).toEqual([TAKEN + units, TAKEN])
    await allowAll()
    const answer = await send('id-01', 'one')
    expect(answer).not.toEqual(refused)
    expect(await used()).toEqual([TAKEN + 2 * units, TAKEN])
    await send('id-01', 'one')
    expect(await used()).toEqual([TAKEN + 2 * units, TAKEN])
  })

  test('that meets a full Redis changes nothing, and then counts once', async () => {
    const { send, used, hold } = await bench(makeMessage)
    await send('id-00', 'both')
    await hold(1)
    const full = expect.objectContaining({ reason: 'out-of-memory', isOfRequest: false })
    for (let i = 0; i < 3; i += 1) expect(await send('id-01', 'both')).toEqual(full)
    await hold(0)
    expect(await used()).toEqual([TAKEN + units, TAKEN + units])
    for (let i = 0; i < 3; i += 1) await send('id-01', 'both')
    expect(await used()).toEqual([TAKEN + 2 * units, TAKEN + 2 * units])
  })

  test('that is stopped after its first subject does not count there again', async () => {
    const { send, used, forbid, allowAll } = await bench(makeMessage)
    await send('id-00', 'one')
    await forbid('setrange')
    expect(await send('id-01', 'both')).toEqual(refused)
    expect(await used()).toEqual([TAKEN + units, TAKEN + units])
    for (let i = 0; i < 3; i += 1) await send('id-01', 'both')
    await allowAll()
    await send('id-01', 'both')
    expect(await used()).toEqual([TAKEN + units, TAKEN + units])
  })
})

test('the answer to a refund that was given in part stays', async () => {
  const { send, forbid, allowAll } = await bench(refunds)
  await forbid('setrange')
  await send('id-01', 'both')
  await allowAll()
  expect(await send('id-01', 'both')).toBe(true)
})
