// The watch that says whether the machine stood still, on a process that is really stopped.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from './docs-pages.ts'

const tool = pathToFileURL(join(root, 'tools/stalls.mjs')).href

/** Prints a line when it has begun, and when it is asked the seconds since then and before. */
const program = `
  import { watchStalls } from '${tool}'
  const stalls = watchStalls()
  const begunMs = Date.now()
  process.stdin.once('data', () => {
    setTimeout(() => {
      const nowMs = Date.now()
      console.log(JSON.stringify([stalls.during(begunMs, nowMs), stalls.during(0, begunMs - 60_000)]))
      stalls.end()
      process.stdin.destroy()
    }, 300)
  })
  console.log('begun')
`

let child: ChildProcess | undefined
afterEach(() => child?.kill('SIGKILL'))

test('counts the seconds for which a process was stopped, in that time alone', async () => {
  const watching = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child = watching
  const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('begun')
  const begunMs = performance.now()
  watching.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 2500))
  const stoppedMs = performance.now() - begunMs
  watching.kill('SIGCONT')
  watching.stdin.write('ask\n')
  const [stood, before] = JSON.parse(String((await lines.next()).value)) as [number, number]
  await once(watching, 'exit')
  expect(stood).toBeGreaterThanOrEqual(stoppedMs / 1000 - 0.2)
  expect(before).toBe(0)
})
