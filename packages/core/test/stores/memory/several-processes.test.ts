// A limiter on the memory store warns once per process when an application has several processes. Tried in real processes.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { compiledWith } from '../../support/compiled.js'

let folder: string

/** Forks some workers. Each makes two limiters that are to be silent, then three others. */
const PROGRAM = `
import cluster from 'node:cluster'
import { createLimiter } from './limiter/create-limiter.js'
import { memoryStore } from './stores/memory/memory-store.js'

const workers = Number(process.argv[2])
if (cluster.isPrimary && workers > 0) for (let i = 0; i < workers; i += 1) cluster.fork()
else {
  const warnings = []
  process.on('warning', ({ name, message }) => warnings.push(name + ': ' + message))
  const limit = '1/min'
  createLimiter({ limit, warnings: false })
  createLimiter({ limit, warnings: false, store: memoryStore() })
  const before = await new Promise((done) => setImmediate(() => done(warnings.length)))
  for (const store of [undefined, memoryStore(), memoryStore()]) createLimiter({ limit, ...(store && { store }) })
  await new Promise((done) => setImmediate(done))
  console.log(JSON.stringify({ before, warnings }))
  process.disconnect?.()
}
`

beforeAll(() => {
  folder = compiledWith(PROGRAM)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** How often each process with limiters warned. Also checks the text of every warning. */
function warnings(workers: number, env: Readonly<Record<string, string>> = {}): Promise<number[]> {
  const args = ['--no-warnings', join(folder, 'program.js'), String(workers)]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env: { PATH: process.env['PATH'], ...env } }, (error, stdout) => {
      if (error) return reject(error)
      const told = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { before: number; warnings: string[] })
      for (const { before, warnings: own } of told) {
        expect(before).toBe(0)
        for (const text of own)
          expect(text).toMatch(/^TollgateWarning: The memory store .* redisStore\(client\)$/)
      }
      resolve(told.map(({ warnings: own }) => own.length))
    })
  })
}

test('a single process does not warn', async () => {
  expect(await warnings(0)).toEqual([0])
})

test('each worker of a cluster warns once, but not for limiters that are to be silent', async () => {
  expect(await warnings(2)).toEqual([1, 1])
})

test.each<[what: string, env: Record<string, string>, workers: number, warned: number[]]>([
  ['the second process', { NODE_APP_INSTANCE: '1', instances: '2' }, 0, [1]],
  ['the first of several', { NODE_APP_INSTANCE: '0', instances: '2' }, 0, [1]],
  ['one of whom it is not said how many they are', { NODE_APP_INSTANCE: '3' }, 0, [1]],
  ['the only one', { NODE_APP_INSTANCE: '0', instances: '1' }, 0, [0]],
  ['the only one, as a worker of a cluster', { NODE_APP_INSTANCE: '0', instances: '1' }, 1, [0]],
])('under PM2, %s', async (_, env, workers, warned) => {
  expect(await warnings(workers, env)).toEqual(warned)
})
