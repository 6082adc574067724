// Scripts are sent as commands that Tollgate puts together: they must be those that the client would send itself.
import { Redis, Command } from 'ioredis'
import { Redis as Redis5, Command as Command5 } from 'ioredis5'
import { Redis as Valkey, Command as ValkeyCommand } from 'iovalkey'
import { evalshaOf } from '../../../src/stores/redis/clients/ioredis.js'

type Kind = readonly [new (options: object) => Redis, new (name: string, args: string[]) => unknown]

const KINDS = {
  ioredis: [Redis, Command],
  'ioredis 5': [Redis5, Command5],
  iovalkey: [Valkey, ValkeyCommand],
} as unknown as Readonly<Record<string, Kind>>
const CALLS = [
  [['a'], ['', 'take', 1, 2.5]],
  [['é漢😀', '\ud800'], ['']],
  [['x'.repeat(255), 'y'.repeat(256), 'z'.repeat(1e6)], ['\r\n$1\r\n']],
  [[], []],
] as const

interface Sent {
  readonly args: string[]
  toWritable(): unknown
}

describe.each(Object.entries(KINDS))('EVALSHA by %s', (_, [Client, Ordinary]) => {
  function watch(options: object = {}): { client: Redis; sent: Sent[] } {
    const client = new Client({ lazyConnect: true, ...options })
    const sent: Sent[] = []
    jest.spyOn(client, 'sendCommand').mockImplementation((command) => sent.push(command as never))
    return { client, sent }
  }

  test.each(['', 'shop:', 'é:'])('is written as by the client itself, with the prefix %p', (keyPrefix) => {
    const { client, sent } = watch({ keyPrefix })
    const evalsha = evalshaOf(client as never)
    for (const [keys, args] of CALLS) {
      void evalsha('5a', keys, args)
      const whole = ['5a', keys.length, ...keys.map((key) => keyPrefix + key), ...args].map(String)
      const command = sent.at(-1)
      expect(command?.args).toEqual(whole)
      expect(command?.toWritable()).toBe((new Ordinary('evalsha', whole) as Sent).toWritable())
      expect(command).not.toHaveProperty('constructor', Ordinary)
    }
    expect(sent).toHaveLength(CALLS.length)
  })

  test.each([
    { enableAutoPipelining: true },
    { showFriendlyErrorStack: true },
    { keyPrefix: Buffer.from('a') },
  ])('is left to the client with %p', (options) => {
    const { client } = watch(options)
    const own = jest.spyOn(Object.getPrototypeOf(client) as Redis, 'evalsha').mockResolvedValue('its own')
    const evalsha = evalshaOf(client as never)
    void evalsha('5a', ['k'], [1])
    expect(own.mock.calls).toEqual([['5a', 1, 'k', 1]])
    own.mockRestore()
  })

  test('is left to a method that the user puts in its place', () => {
    const { client, sent } = watch()
    const evalsha = evalshaOf(client as never)
    void evalsha('5a', ['k'], [1])
    const own = jest.spyOn(client, 'evalsha').mockResolvedValue('its own')
    void evalsha('5a', ['k'], [1])
    expect([own.mock.calls.length, sent.length]).toEqual([1, 1])
    own.mockRestore()
    void evalsha('5a', ['k'], [1])
    expect(sent).toHaveLength(2)
  })
})
