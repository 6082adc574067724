// A process of the test: takes one unit of each key at once, when it is told to. Prints which it got.
import { once } from 'node:events'
import { createLimitSet } from '@tollgate/core/store'
import { sqlStore } from '../src/sql-store.js'
import { sqlite } from '../src/sqlite.js'

const [path, keys] = process.argv.slice(2)
const db = sqlite(path)
const store = sqlStore(db)
const set = createLimitSet('2/h')
console.log('ready')
await once(process.stdin, 'data')
const answers = await Promise.all(
  Array.from({ length: Number(keys) }, (_, i) =>
    store.consume([{ shard: 0, grant: 'all', parts: [{ key: `key ${i}`, set, cost: 1 }] }]),
  ),
)
console.log(JSON.stringify(answers.map(([{ limits }]) => limits[0].wait === 0)))
process.stdin.destroy()
await store.close()
db.close()
