// What a store does for requests in flight, asked as a limiter asks it.
import { createLimitSet } from '@tollgate/core/store'
import { commandUs } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const RATE = '1000000/s burst 1000000'
const rated = createLimitSet(RATE)
const withSlots = createLimitSet(RATE, '1000000 concurrent')
const SUBJECTS = 640
const HOLDER = 'bench4'
const OTHERS = ['bench1', 'bench2', 'bench3']

/** Sends requests of one holder, and remembers what it holds of each subject. */
class Holder {
  #store
  #id
  #known = new Map()
  #held = new Map()

  constructor(store, id) {
    this.#store = store
    this.#id = id
  }

  async begin(keys) {
    const answers = await this.#send('all', keys)
    for (const [i, key] of keys.entries()) {
      const { slot, wait } = answers[i].limits.at(-1)
      if (wait !== 0) throw new Error('A request was denied')
      this.#known.set(key, slot)
      this.#held.set(key, (this.#held.get(key) ?? 0) + 1)
    }
  }

  async release(keys) {
    for (const key of keys) this.#held.set(key, this.#held.get(key) - 1)
    await this.#send('release', keys)
  }

  #send(grant, keys) {
    const slotsOf = (key) => ({
      id: this.#id,
      held: this.#held.get(key) ?? 0,
      known: this.#known.get(key) ?? 0,
    })
    return this.#store.consume(
      keys.map((key) => ({
        shard: 0,
        grant,
        parts: [{ key, set: withSlots, cost: 1, slots: slotsOf(key) }],
      })),
    )
  }
}

/** Redis's time for a request, in commands of `size` requests. */
export async function commandCost(store, monitor, { size, turns, batches }) {
  const batch = (i, begin) => Array.from({ length: size }, (_, j) => `${begin}${(i * size + j) % SUBJECTS}`)
  const all = Array.from({ length: SUBJECTS }, (_, i) => `slots-${i}`)
  for (const id of OTHERS) await new Holder(store, id).begin(all)
  const holder = new Holder(store, HOLDER)
  const each = async (work) => {
    for (let i = 0; i < batches; i += 1) await work(batch(i, 'slots-'))
  }
  const begin = () => each((keys) => holder.begin(keys))
  const release = () => each((keys) => holder.release(keys))
  const alone = async () => {
    for (let i = 0; i < batches; i += 1)
      await store.consume(
        batch(i, 'rated-').map((key) => ({ shard: 0, grant: 'all', parts: [{ key, set: rated, cost: 1 }] })),
      )
  }
  const cells = {
    [names.RATED]: { measured: alone },
    [names.SLOTS_BEGIN]: { measured: begin, after: release },
    [names.SLOTS_END]: { before: begin, measured: release },
    [names.SLOTS_BOTH]: {
      measured: () => each((keys) => holder.begin(keys).then(() => holder.release(keys))),
    },
    [names.RATED_AGAIN]: { measured: alone },
  }
  for (const { before, measured, after } of Object.values(cells))
    for (const run of [before, measured, after]) await run?.()
  return takeTurns(new Map(Object.entries(cells)), turns, async (_name, { before, measured, after }) => {
    await before?.()
    const us = await commandUs(monitor, measured)
    await after?.()
    return { us: us / (batches * size) }
  })
}

const EACH = 250

export async function bytes(store, client) {
  const one = { shard: 0, grant: 'all', parts: [{ key: 'bytes-rated', set: rated, cost: 1 }] }
  await store.consume([one])
  for (const id of [...OTHERS, HOLDER]) {
    const holder = new Holder(store, id)
    for (let i = 0; i < EACH; i += 1) await holder.begin(['bytes-slots'])
  }
  const row = async (end) => {
    const keys = await client.keys(`*${end}*`)
    if (keys.length !== 1) throw new Error(`${keys.length} keys of ${end}`)
    return { strlen: [await client.strlen(keys[0])], usage: [await client.memory('USAGE', keys[0])] }
  }
  return { [names.RATED]: await row('bytes-rated'), [names.SLOTS]: await row('bytes-slots') }
}
