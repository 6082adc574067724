// The contract of stores on both databases, and what it cannot see from outside: rows, their end, and a deadline that has passed.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createLimitSet, refundOf } from '@tollgate/core/store'
import { storeContract } from '@tollgate/store-contract'
import { createTable, sqlStore } from '../src/sql-store.js'
import { openPostgres, openSqlite } from '../support/databases.js'

const SET = createLimitSet({ quota: 5, window: '1 h' })
const SHORT = createLimitSet({ quota: 5, window: '50 ms' })
const request = (key, set = SET, cost = 1) => ({ shard: 0, grant: 'all', parts: [{ key, set, cost }] })
const left = async (store, key, set = SET) => (await store.peek([request(key, set)]))[0].limits[0].remaining

for (const [name, open] of Object.entries({ SQLite: openSqlite, PostgreSQL: openPostgres })) {
  // Checks mostly wait, and use keys of their own.
  describe(name, { concurrency: true }, () => {
    let database
    before(async () => (database = await open()))
    after(() => database.close())

    /**
     * Stores whose clock a test sets ahead: the time that they ask the database for is then later. Each has a table, since
     * a store deletes what has expired by its clock.
     */
    const ahead = new Map()
    const make = async () => {
      const { db } = database
      const table = `contract_${ahead.size}`
      const clock = { us: 0 }
      const now = () => `(${db.now} + ${clock.us})`
      const late = {
        transaction: (run) => db.transaction(run),
        get now() {
          return now()
        },
      }
      const store = sqlStore(late, { table })
      ahead.set(store, clock)
      await createTable(db, table)
      return store
    }
    const passTime = (store, ms) => (ahead.get(store).us += ms * 1000)

    for (const { name, check } of storeContract(make, { passTime })) test(name, check)

    const names = async () => {
      const rows = await database.db.transaction((query) => query('SELECT key FROM tollgate ORDER BY key'))
      return rows.map(({ key }) => key)
    }

    test(
      'expired ones are deleted behind decisions, and those that count are not',
      { timeout: 20_000 },
      async () => {
        const store = sqlStore(database.db)
        await store.consume([request('stays'), request('goes', SHORT), request('never fits', SET, 9)])
        for (;;) {
          await store.consume([request('asks', SET, 9)])
          const found = await names()
          assert.ok(found.includes('k"stays"'))
          if (!found.some((one) => one === 'k"goes"' || one === 'k"never fits"')) break
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        await store.close()
        assert.equal(await left(store, 'stays'), 4)
      },
    )

    test('two tables count apart', async () => {
      await createTable(database.db, 'other')
      const [one, other] = [sqlStore(database.db), sqlStore(database.db, { table: 'other' })]
      await one.consume([request('a')])
      await other.consume([request('a', SET, 3)])
      assert.deepEqual([await left(one, 'a'), await left(other, 'a')], [4, 2])
    })

    test('counts are there after the store is made anew, and a refund of before', async () => {
      const before = request('kept', SET, 3)
      const [outcome] = await sqlStore(database.db).consume([before])
      const store = sqlStore(database.db)
      assert.equal(await left(store, 'kept'), 2)
      assert.deepEqual(await store.refund([refundOf(before, outcome, 2)]), [true])
      assert.equal(await left(store, 'kept'), 4)
    })

    test('a request whose deadline has passed is rolled back, and the next one counts', async () => {
      const store = sqlStore(database.db)
      let looks = 0
      // Over when the rows are there, and not before.
      const call = {
        get isOver() {
          return (looks += 1) > 1
        },
      }
      await assert.rejects(async () => store.consume([request('late')], call), { code: 'ERR_TOLLGATE_STORE' })
      assert.equal(await left(store, 'late'), 5)
      await store.consume([request('late')])
      assert.equal(await left(store, 'late'), 4)
    })

    test('many transactions with the same keys in other orders all end', async () => {
      const store = sqlStore(database.db)
      const both = (keys) => ({
        shard: 0,
        grant: 'all',
        parts: keys.map((key) => ({ key, set: SET, cost: 1 })),
      })
      const calls = Array.from({ length: 20 }, (_, i) =>
        store.consume([both(i % 2 ? ['x', 'y'] : ['y', 'x'])]),
      )
      const admitted = (await Promise.all(calls))
        .flat()
        .filter(({ limits }) => limits.every(({ wait }) => wait === 0))
      assert.equal(admitted.length, 5)
    })
  })
}

test('a table is a name, and no SQL', () => {
  assert.throws(
    () => sqlStore({ now: '0', transaction: async () => {} }, { table: 'a; DROP TABLE b' }),
    /table: got/,
  )
})
