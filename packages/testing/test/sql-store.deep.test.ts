// The example of a store on SQL passes the contract of stores, run as its author would run it.
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { storeContract } from '@tollgate/store-contract'
import { memoryStore } from '@tollgate/core/store'

const folder = resolve(__dirname, '../../../examples/sql-store')

test('on SQLite and on PostgreSQL, and with two processes on one file', async () => {
  // A run inside a run would report to the outer one.
  const { NODE_TEST_CONTEXT: _outer, ...env } = process.env
  const run = promisify(execFile)('npm', ['test', '--silent'], { cwd: folder, env })
  const { stdout, stderr } = await run.catch((failed: { stdout: string; stderr: string }) => failed)
  expect([...stdout.matchAll(/^ *not ok .*(?:\n(?! *(?:not )?ok).*)*/gm), stderr].map(String)).toEqual([''])
  const passed = Number(/^# pass (\d+)/m.exec(stdout)?.[1])
  expect(passed).toBeGreaterThan(2 * storeContract(() => memoryStore()).length)
})
