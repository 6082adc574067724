// The page on leases at scale is what the committed figures render, and the parts of the simulation do what they say.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './docs-pages.ts'

const source = join(root, 'packages/benchmarks/src/simulation')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-simulation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program that has what a module of the simulation exports, and prints a value. */
function printed(module: string, names: string, program: string): unknown {
  const file = join(folder, 'program.mjs')
  writeFileSync(file, `import { ${names} } from '${pathToFileURL(join(source, module)).href}'\n${program}`)
  const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test('the page is what the committed figures render', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(source, 'main.mjs'), '--check'], {
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('a simulated clock does what is due in order, also what is made meanwhile, and nothing that was cancelled', () => {
  const order = printed(
    'clock.mjs',
    'SimulatedClock',
    `const clock = new SimulatedClock()
     const order = []
     const note = (name) => () => order.push([name, clock.now])
     for (const time of [5, 1, 3, 2, 4, 9]) clock.at(time, note('at ' + time))
     clock.at(3, note('later made'))
     clock.at(2, () => clock.after(0.5, note('made at 2')))
     clock.cancel(clock.at(4, note('never')))
     clock.runUntil(6)
     console.log(JSON.stringify([...order, clock.now]))`,
  )
  expect(order).toEqual([
    ...[1, 2].map((time) => [`at ${time}`, time]),
    ['made at 2', 2.5],
    ['at 3', 3],
    ['later made', 3],
    ...[4, 5].map((time) => [`at ${time}`, time]),
    6,
  ])
})

test('demand is skewed as it says, and fairness is 1 for equal shares', () => {
  const [counts, shares, fair] = printed(
    'demand.mjs',
    'randomOf, zipf',
    `import { jain } from '${pathToFileURL(join(source, 'figures.mjs')).href}'
     const ranks = zipf(4, 1)
     const random = randomOf(7)
     const counts = [0, 0, 0, 0]
     for (let i = 0; i < 10000; i += 1) counts[ranks.draw(random)] += 1
     const shares = counts.map((_, i) => ranks.share(i))
     console.log(JSON.stringify([counts, shares, [jain([1, 1, 1]), jain([1, 0, 0, 0]), jain([])]]))`,
  ) as [number[], number[], number[]]
  for (const [i, count] of counts.entries()) expect(count / 10_000).toBeCloseTo(shares[i] ?? 0, 1)
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9)
  expect(fair).toEqual([1, 0.25, 1])
})
