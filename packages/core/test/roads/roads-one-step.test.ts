import { testPrefix, cases } from '@tollgate/testing'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { leavesNothing, playPlain } from './idle.js'
import { compare, describeLaws, forEachOf, playOn, seeds } from './many.js'
import { inMemory, onRedis } from './road.js'
import { Tally } from './tally.js'

const tally = new Tally()
const prefix = testPrefix()
let limiters = 0

const redis = (): [ReturnType<typeof sharedRedis>] => [sharedRedis()]
const prefixOf = (): string => `${prefix}:${(limiters += 1)}`

/** The server uses the schedule's clock, so that answers are compared to the µs. */
const server = onRedis({ name: 'one server', grouping: 'all' }, redis, prefixOf)

/** As above, and denials are remembered by the schedule's clock, for half a second at most. */
const remembering = onRedis(
  { name: 'one server, denials remembered', grouping: 'all', denials: { recheckMs: 500 } },
  redis,
  prefixOf,
)

const SKEW_MS = 7_200_000
let skew = 0

/** The server uses its own clock. That of the application is two hours off, ahead and behind in turn. */
const skewed = onRedis(
  {
    ...{ name: 'one server, clocks apart', grouping: 'all', isLive: true, law: 6 },
    onStep: () => {
      skew = skew === SKEW_MS ? -SKEW_MS : SKEW_MS
    },
  },
  redis,
  prefixOf,
)

/** Windows shorter than the clocks are apart, and far longer than the schedules take. */
const LONG_MS = [3_600_000, 5_400_000]

let remembered = 0
let brought = 0
let ruled = 0
let billed = 0

async function playOnBoth(seed: number): Promise<void> {
  const [here, there] = [
    await playOn(server, seed, { rules: true }),
    await playOn(inMemory, seed, { rules: true }),
  ]
  compare(here, there)
  tally.add(server.name, here.case)
  tally.add(inMemory.name, there.case)
  brought += here.case.brought
  ruled += here.case.rules
}

const billing = { here: `${server.name}, bills`, there: `${inMemory.name}, bills` } as const

/** Units that are sold beside the quotas: the two roads are judged by each other. */
async function playBills(seed: number): Promise<void> {
  const options = { rules: seed % 2 === 0, inFlight: seed % 3 === 0, reserves: seed % 4 === 0, bills: true }
  const [here, there] = [await playOn(server, seed, options), await playOn(inMemory, seed, options)]
  compare(here, there)
  tally.add(billing.here, here.case)
  tally.add(billing.there, there.case)
  billed += here.case.bills
}

/** How many schedules each law needs. */
const NEEDED = cases(30, 1000)
/** More, since not every schedule changes plans, refunds, or has a hostile id. */
const SCHEDULES = NEEDED * 1.3

beforeAll(async () => {
  await forEachOf(seeds(SCHEDULES), playOnBoth)
  await forEachOf(seeds(SCHEDULES), playBills)
  await forEachOf(seeds(0.4 * NEEDED), async (seed) => {
    const { case: done } = await playOn(remembering, seed, { rules: true })
    tally.add(remembering.name, done)
    remembered += done.remembered
  })
  await leavesNothing([sharedRedis()], seeds(NEEDED), {
    play: playPlain,
    onDone: (done) => tally.add(server.name, done),
  })
  const real = Date.now
  const spy = jest.spyOn(Date, 'now').mockImplementation(() => real() + skew)
  const long = {
    kinds: ['log', 'window', 'fixed', 'month', 'bucket'],
    windowsMs: LONG_MS,
  } as const
  await forEachOf(seeds(NEEDED), async (seed) => {
    tally.add(skewed.name, (await playOn(skewed, seed, { ...long, gaps: false, steps: 5 })).case)
  })
  spy.mockRestore()
})

afterAll(async () => {
  tally.print()
  closeBenches()
})

describeLaws(tally, { road: inMemory.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: NEEDED })
describeLaws(tally, { road: server.name, laws: [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], schedules: NEEDED })
describeLaws(tally, { road: billing.here, laws: [2, 5, 8, 9], schedules: 0.5 * NEEDED })
describeLaws(tally, { road: billing.there, laws: [2, 8, 9], schedules: 0.5 * NEEDED })
describeLaws(tally, { road: remembering.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: 0.3 * NEEDED })
describeLaws(tally, { road: skewed.name, laws: [6], schedules: NEEDED })

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart('denials came from memory', () => expect(remembered).toBeGreaterThan(NEEDED / 10))
unlessPart('rules were set', () => expect(ruled).toBeGreaterThan(2 * NEEDED))
unlessPart('units were booked', () => expect(billed).toBeGreaterThan(NEEDED))
unlessPart('subjects brought limits', () => expect(brought).toBeGreaterThan(2 * NEEDED))

test('law 10: keys are short, and have only printable ASCII characters', async () => {
  const keys = await sharedRedis().keys(`${prefix}*/[^!]*`)
  expect(keys.length).toBeGreaterThan(NEEDED)
  expect(keys.filter((key) => !/^[\x21-\x7e]{1,200}$/.test(key))).toEqual([])
})
