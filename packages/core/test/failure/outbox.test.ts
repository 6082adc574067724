import { eventually } from '@tollgate/testing'
import { StoreError } from '../../src/index.js'
import { Outbox } from '../../src/failure/outbox.js'
import { LARGEST_BATCH, MOST_LIMITS_A_CALL } from '../../src/stores/batcher.js'
import { ID_KEPT_MS } from '../../src/stores/contract.js'

let mockLaterMs = 0
jest.mock('../../src/base/timers.js', () => {
  const timers = jest.requireActual('../../src/base/timers.js')
  return { ...timers, elapsedMs: () => timers.elapsedMs() + mockLaterMs }
})
afterEach(() => void (mockLaterMs = 0))

interface Item {
  readonly shard: number
  readonly id: string
  /** How many limits it is about. Default: 1. */
  readonly limits?: number
}
type Given = string | StoreError

const down = new StoreError('down')
const hopeless = new StoreError('its own fault', { isOfRequest: true })

/** An outbox whose store answers by `give`. */
function boxOf(give: (items: readonly Item[]) => readonly Given[] | Promise<readonly Given[]>): {
  outbox: Outbox<Item, string>
  sent: { ids: string; isForced: boolean }[]
  delivered: unknown[]
  dropped: string[]
  open: Set<number>
} {
  const sent: { ids: string; isForced: boolean }[] = []
  const delivered: unknown[] = []
  const dropped: string[] = []
  const open = new Set<number>()
  const outbox = new Outbox<Item, string>({
    send: async (items, isForced) => {
      sent.push({ ids: items.map(({ id }) => id).join(), isForced })
      return give(items)
    },
    limitsOf: ({ limits = 1 }) => limits,
    isOpen: (shard) => open.has(shard),
    onDelivered: ({ id }, answer) => delivered.push([id, answer]),
    onDropped: ({ id }) => dropped.push(id),
  })
  return { outbox, sent, delivered, dropped, open }
}
const item = (id: string, shard = 0): Item => ({ shard, id })

test('an answered item is delivered, and not sent again', async () => {
  const { outbox, sent, delivered, dropped } = boxOf((items) => items.map(({ id }) => `of ${id}`))
  expect(await outbox.deliver([item('a'), item('b')], false)).toEqual(['of a', 'of b'])
  await outbox.end()
  expect(delivered).toEqual([
    ['a', 'of a'],
    ['b', 'of b'],
  ])
  expect([sent.length, dropped]).toEqual([1, []])
})

test('an unanswered item is sent again unchanged until it is answered, and reported once', async () => {
  let replies = 0
  const { outbox, sent, delivered } = boxOf((items) => items.map(() => (++replies > 3 ? 'yes' : down)))
  const [first] = await outbox.deliver([item('a')], false)
  expect(first).toBe(down)
  await eventually(() => expect(delivered).toEqual([['a', 'yes']]))
  expect(sent.map(({ ids }) => ids)).toEqual(['a', 'a', 'a', 'a'])
  await outbox.end()
  expect(sent).toHaveLength(4)
})

test('only those items of a batch are sent again that got no answer', async () => {
  let isDown = true
  const { outbox, sent, delivered } = boxOf((items) =>
    items.flatMap(({ id }): Given[] => (isDown && id === 'b' ? [down] : isDown && id === 'c' ? [] : ['yes'])),
  )
  await outbox.deliver([item('a'), item('b'), item('c')], false)
  isDown = false
  await eventually(() => expect(delivered).toHaveLength(3))
  expect(sent.map(({ ids }) => ids)).toEqual(['a,b,c', 'b,c'])
  await outbox.end()
})

test('an item that fails by its own fault is reported, and not sent again', async () => {
  const { outbox, sent, delivered } = boxOf((items) => items.map(() => hopeless))
  await outbox.deliver([item('a')], false)
  await outbox.end()
  expect([delivered, sent.length]).toEqual([[['a', hopeless]], 1])
})

test('while a breaker is open, items wait for recover, which sends those of the shard, forced', async () => {
  let isDown = true
  const { outbox, sent, delivered, open } = boxOf((items) => items.map(() => (isDown ? down : 'yes')))
  open.add(0).add(1)
  await outbox.deliver([item('a', 0)], false)
  await outbox.deliver([item('b', 1)], false)
  isDown = false
  await outbox.recover(1)
  expect(delivered).toEqual([['b', 'yes']])
  expect(sent.slice(2)).toEqual([{ ids: 'b', isForced: true }])
  open.clear()
  await eventually(() => expect(delivered).toHaveLength(2))
  expect(sent.slice(3)).toEqual([{ ids: 'a', isForced: false }])
  await outbox.end()
})

const count = 2 * LARGEST_BATCH + 5
const half = MOST_LIMITS_A_CALL / 2
test.each<[what: string, limits: readonly number[], calls: readonly number[]]>([
  ['many items', Array.from({ length: count }, () => 1), [LARGEST_BATCH, LARGEST_BATCH, 5]],
  ['items about many limits', [half, half, 1, half, half, half], [2, 2, 2]],
  ['one item about more limits than a call may have', [1, MOST_LIMITS_A_CALL + 1, 1], [1, 1, 1]],
])('%s are sent in calls small enough to let requests through, also again', async (_, limits, calls) => {
  let isDown = true
  const { outbox, sent, delivered } = boxOf((items) => items.map(() => (isDown ? down : 'yes')))
  const items = limits.map((many, i) => ({ ...item(String(i)), limits: many }))
  expect(await outbox.deliver(items, false)).toEqual(items.map(() => down))
  isDown = false
  await outbox.recover(0)
  expect(sent.map(({ ids }) => ids.split(',').length)).toEqual([...calls, ...calls])
  expect(delivered).toEqual(items.map(({ id }) => [id, 'yes']))
  await outbox.end()
})

test('end waits for items that are being sent again, sends the rest, and reports the lost ones', async () => {
  let isDown = true
  let release = (): void => {}
  const { outbox, delivered, dropped } = boxOf(async (items) => {
    if (isDown) return items.map(() => down)
    await new Promise<void>((resolve) => (release = resolve))
    return items.map(({ id }) => (id === '7' ? down : 'yes'))
  })
  const count = 2 * LARGEST_BATCH
  await outbox.deliver(
    Array.from({ length: count }, (_, i) => item(String(i))),
    false,
  )
  isDown = false
  void outbox.recover(0)
  let isEnded = false
  const ended = outbox.end().then(() => (isEnded = true))
  await eventually(() => {
    release()
    return isEnded
  })
  await ended
  expect([delivered.length, dropped]).toEqual([count - 1, ['7']])
})

test('items are dropped after five minutes, long before the store forgets their ids', async () => {
  const { outbox, sent, dropped, delivered, open } = boxOf((items) => items.map(() => down))
  open.add(0)
  await outbox.deliver([item('a'), item('b')], false)
  mockLaterMs = ID_KEPT_MS / 2 - 60_000
  await outbox.recover(0)
  expect([dropped, sent.length]).toEqual([[], 2])
  mockLaterMs = ID_KEPT_MS / 2
  await outbox.recover(0)
  expect([dropped, delivered, sent.length]).toEqual([['a', 'b'], [], 2])
  // The same without a recovery, for a shard that stays unreachable.
  await outbox.deliver([item('c')], false)
  mockLaterMs = ID_KEPT_MS
  await eventually(() => expect(dropped).toEqual(['a', 'b', 'c']))
  await outbox.end()
  expect([dropped.length, sent.length]).toEqual([3, 3])
})

test('the number of waiting items is bounded: the oldest are dropped and reported', async () => {
  const { outbox, dropped, open } = boxOf((items) => items.map(() => down))
  open.add(0)
  await outbox.deliver(
    Array.from({ length: 10_003 }, (_, i) => item(String(i))),
    false,
  )
  expect(dropped).toEqual(['0', '1', '2'])
  await outbox.end()
  expect(dropped).toHaveLength(10_003)
})
