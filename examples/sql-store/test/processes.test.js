import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createLimitSet } from '@tollgate/core/store'
import { sqlStore } from '../src/sql-store.js'
import { openSqlite } from '../support/databases.js'

const KEYS = 100
const program = fileURLToPath(new URL('../support/taker.js', import.meta.url))

test('when two processes take the last unit of a key at once, one of them is denied', async (t) => {
  const { db, path, close } = await openSqlite()
  const set = createLimitSet('2/h')
  const keys = Array.from({ length: KEYS }, (_, i) => `key ${i}`)
  // One of two units of each is gone.
  await sqlStore(db).consume(keys.map((key) => ({ shard: 0, grant: 'all', parts: [{ key, set, cost: 1 }] })))
  const processes = [1, 2].map(() => spawn(process.execPath, [program, path, String(KEYS)]))
  t.after(() => processes.forEach((one) => one.kill()))
  const said = processes.map(() => '')
  processes.forEach(({ stdout, stderr }, i) => {
    stdout.on('data', (chunk) => (said[i] += chunk))
    stderr.on('data', (chunk) => (said[i] += chunk))
  })
  await Promise.all(processes.map(({ stdout }) => once(stdout, 'data')))
  for (const { stdin } of processes) stdin.write('go\n')
  await Promise.all(processes.map((one) => once(one, 'close')))
  const [one, other] = said.map((text) => JSON.parse(text.split('\n')[1]))
  // Each key once: by one of them, and not by both.
  assert.deepEqual(
    keys.map((_, i) => Number(one[i]) + Number(other[i])),
    keys.map(() => 1),
  )
  await close()
})
