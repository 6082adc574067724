// The benchmark page, its charts and the summary in the README are what the committed figures render. Nothing is
// measured here.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startMemcached } from '../src/memcached/server.ts'
import { root } from './docs-pages.ts'

interface Section {
  grids?: Record<string, Record<string, Record<string, number[]>>>
  error?: string
}

interface Run {
  command?: string
  commands?: string[]
  pace: string
  sections: Record<string, Section>
}

const committed = join(root, 'docs/compare/benchmarks/results.json')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-figures-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const source = join(root, 'packages/benchmarks/src')
const node = (args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** Runs a program that has what a module of the benchmarks exports, and prints a value. */
function printed(module: string, names: string, program: string): unknown {
  const url = pathToFileURL(join(source, module)).href
  // In a file: a section inherits the flags of Node, and would run a program given by --eval again.
  const file = join(folder, 'program.mjs')
  writeFileSync(file, `import { ${names} } from '${url}'\n${program}`)
  return JSON.parse(node([file]).stdout)
}

/** Renders figures; without a change, the committed ones. */
function bench(args: readonly string[], change?: (run: Run) => void) {
  let file = committed
  if (change) {
    const run: Run = JSON.parse(readFileSync(committed, 'utf8'))
    change(run)
    file = join(folder, 'results.json')
    writeFileSync(file, JSON.stringify(run))
  }
  return node([join(source, 'main.mjs'), '--from', file, ...args])
}

test('page, charts and README are what the committed figures render', () => {
  expect(bench(['--check'])).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('other figures would render other files, and the check names them', () => {
  const { status, stderr } = bench(['--check'], ({ sections }) => {
    // No table that could be too noisy to judge.
    const log = sections.accuracy?.grids?.accuracy?.['Tollgate: sliding log']
    if (!log?.seam) throw new Error('The committed run has no such figure')
    log.seam = log.seam.map((each) => 2 * each)
  })
  expect(status).toBe(1)
  const named = [...stderr.matchAll(/^(\S+) is out of date/gm)].map(([, path]) => path)
  expect(named.sort()).toEqual([
    ...[
      'docs/compare/benchmarks.md',
      'docs/compare/benchmarks/accuracy.svg',
      'docs/compare/benchmarks/results.json',
    ],
  ])
})

test('writing figures keeps the names of rows, also those with a list in them', () => {
  const row = "Tollgate: shed: ['free', 'starter']"
  const written = printed(
    'report/files.mjs',
    'jsonOf',
    `const text = jsonOf({ ${JSON.stringify(row)}: { pro: [0.5, 1] } })
     console.log(JSON.stringify({ text, read: JSON.parse(text) }))`,
  ) as { text: string; read: object }
  expect(written.read).toEqual({ [row]: { pro: [0.5, 1] } })
  expect(written.text).toContain('"pro": [0.5,1]')
})

/** Makes the floor half as much again as itself: more than the 10 % that a reference may be off. */
function disturb(sections: Record<string, Section>) {
  const server = sections.server?.grids?.server ?? {}
  server['floor: read and write each key'] = { us: [1, 1, 1, 1, 1] }
  server['floor, again'] = { us: [1, 1.5, 1.5, 1.5, 1.6] }
}

test('a section that failed says so beside the others, and one that is too noisy to judge is left out', () => {
  const { status, stdout, stderr } = bench([], ({ sections }) => {
    sections.growth = { error: 'Redis went away' }
    delete sections.bytes
    disturb(sections)
    Object.assign(sections.server ?? {}, { tries: 3 })
  })
  expect(status).toBe(1)
  expect(stderr).toContain('section growth failed: Redis went away')
  expect(stderr).toContain('section server: left out as too noisy to judge: server')
  expect(stdout).toContain('This section failed: Redis went away')
  const [, text = ''] = stdout.split("## Redis's time per decision (server)")
  const [line] = text.split('\n## ')
  expect(line?.trim()).toBe(
    '**Left out**, because it was too noisy to judge in 3 tries. floor: read and write each key measured twice: ratio 1.50.',
  )
  const goals = stdout.split('## To reach')[1] ?? ''
  expect(goals.match(/Redis's time per decision.*\| {2}\| too noisy to judge/g)).toHaveLength(5)
  expect(goals).not.toContain('bytes in Redis per subject')
})

test('page, charts and README have no figure that is too noisy to judge', () => {
  const run: Run = JSON.parse(readFileSync(committed, 'utf8'))
  disturb(run.sections)
  // As different as the first and the second half of a busy minute.
  const spoil = (section: string, grid: string, row: string) => {
    const rows = run.sections[section]?.grids?.[grid]?.[row]
    if (!rows?.perSecond) throw new Error('The committed run has no such figure')
    rows.perSecond = rows.perSecond.map((each) => 3 * each)
  }
  spoil('flood', 'flood', 'rate-limiter-flexible, in-memory block, again')
  spoil('speed-512', 'allowed', 'INCR, again')
  writeFileSync(join(folder, 'noisy.json'), JSON.stringify(run))
  const files = printed(
    'report/files.mjs',
    'filesOf',
    `import { readRuns } from '${pathToFileURL(join(source, 'report/read.mjs')).href}'
     console.log(JSON.stringify(filesOf(readRuns(['${join(folder, 'noisy.json')}']))))`,
  ) as Record<string, string>
  const page = files['docs/compare/benchmarks.md'] ?? ''
  // One line below the title, and no prose of what is not there.
  expect(page).toMatch(/\n## Redis's time per decision\n\n\*\*Left out\*\*.*\n\n## /)
  expect(files).not.toHaveProperty(['docs/compare/benchmarks/server.svg'])
  expect(files['docs/compare/benchmarks/speed.svg'] ?? '').not.toContain('512 in flight')
  expect(files['README.md']).not.toContain('512 requests in flight')
  expect(files['README.md']).not.toContain('denies a flooding tenant')
  expect(files['README.md']).toContain('With one request at a time')
  // The figures themselves stay.
  const kept: Run = JSON.parse(files['docs/compare/benchmarks/results.json'] ?? '')
  expect(kept.sections.server).toEqual(run.sections.server)
})

test('the README tells of a flood, of a lone request beside a bare script, and of a batch, as they were measured', () => {
  const run: Run = JSON.parse(readFileSync(committed, 'utf8'))
  const flood = run.sections.flood?.grids?.flood ?? {}
  // Twice as fast, all of them: the table stays as quiet as it was.
  for (const row of Object.values(flood)) row.perSecond = row.perSecond?.map((each) => 2 * each) ?? []
  writeFileSync(join(folder, 'twice.json'), JSON.stringify(run))
  const sentences = ['twice.json', committed].map((file) => {
    const text = printed(
      'report/files.mjs',
      'filesOf',
      `import { readRuns } from '${pathToFileURL(join(source, 'report/read.mjs')).href}'
       console.log(JSON.stringify(filesOf(readRuns([${JSON.stringify(file.startsWith('/') ? file : join(folder, file))}]))['README.md']))`,
    ) as string
    return text.split('<!-- benchmarks')[1]?.split('\n').slice(1, 4) ?? []
  })
  const [twice = [], once = []] = sentences
  const timesIn = (text = ''): number[] =>
    [...text.matchAll(/[\d,]{6,}/g)].map(([n]) => Number(n.replaceAll(',', '')))
  expect(timesIn(once[0])).toHaveLength(2)
  // Figures have four digits.
  expect(timesIn(twice[0])).toEqual(timesIn(once[0]).map((each) => Number((2 * each).toPrecision(4))))
  expect(twice.slice(1)).toEqual(once.slice(1))
  expect(once[1]).toMatch(
    /^With one request at a time, Tollgate runs at 0\.\d+ times the speed of a bare Redis `INCR`, a bare script at 0\.\d+, /,
  )
  expect(once[2]).toMatch(
    /^With 512 requests in flight, which share calls, Tollgate runs at \d\.\d+ times `INCR`, /,
  )
})

test('a section with noisy tables is repeated until it is quiet, three times at most, and keeps what was quiet', () => {
  const repeated = printed(
    'run.mjs',
    'repeatNoisy',
    `const noisy = (value) => Object.entries(value).filter(([, level]) => level > 1).map(([grid]) => grid)
     const measured = { quiet: [], loud: [], broken: [], failed: [], lost: [] }
     const levels = { quiet: [{ a: 0, b: 0 }], loud: [{ a: 0.1, b: 2 }, { a: 9, b: 0.5 }], broken: [{ a: 2 }, { a: 3 }, { a: 4 }] }
     const results = Object.fromEntries(Object.entries(levels).map(([name, [grids]]) => [name, { grids, seconds: 1 }]))
     results.failed = { error: 'Redis went away', seconds: 1 }
     results.lost = { grids: { a: 7 }, seconds: 1 }
     const order = []
     const measure = async (name, noisy) => {
       order.push([name, ...noisy])
       if (name === 'lost') return { error: 'Redis went away', seconds: 1 }
       return { grids: levels[name][measured[name].push(name)], seconds: 1 }
     }
     const settings = { noisyIn: (name, grids) => noisy(grids), stop: { aborted: false } }
     await repeatNoisy(results, measure, { ...settings, mostMs: 60_000 })
     const late = { broken: { grids: { a: 2 }, seconds: 1 } }
     await repeatNoisy(late, measure, { ...settings, mostMs: 0 })
     console.log(JSON.stringify({ order, results, late }))`,
  )
  expect(repeated).toEqual({
    order: [
      ...[
        ['loud', 'b'],
        ['broken', 'a'],
        ['lost', 'a'],
      ],
      ...[
        ['broken', 'a'],
        ['lost', 'a'],
      ],
    ],
    results: {
      quiet: { grids: { a: 0, b: 0 }, seconds: 1 },
      loud: { grids: { a: 0.1, b: 0.5 }, seconds: 2, tries: 2 },
      broken: { grids: { a: 4 }, seconds: 3, tries: 3 },
      failed: { error: 'Redis went away', seconds: 1 },
      lost: { grids: { a: 7 }, seconds: 3, tries: 3 },
    },
    late: { broken: { grids: { a: 2 }, seconds: 1 } },
  })
})

test('a run that is stopped keeps the sections before, and one that fails says why in a line', () => {
  const results = printed(
    'run.mjs',
    'runSections',
    `const stop = new AbortController()
     const say = (text) => text.startsWith('cluster') && stop.abort()
     const options = { pace: 'quick', cores: 'free', say, stop: stop.signal }
     console.log(JSON.stringify(await runSections(['no such section', 'cluster', 'bytes'], options)))`,
  )
  expect(results).toEqual({
    'no such section': { error: expect.stringMatching(/^\w*Error.*$/), seconds: expect.any(Number) },
  })
})

test('of few answers the share of denials is not judged, but what is neither 200 nor 429 is', () => {
  const judged = printed(
    'http/answers.mjs',
    'checkAnswers',
    `const cases = [[13, 146, 0, true], [1000, 9000, 0, true], [200, 1, 0, false], [13, 146, 1, true], [0, 0, 0, true]]
     const isFine = ([passed, denied, other, denies]) => {
       try {
         return checkAnswers('x', { passed, denied, other }, denies)
       } catch {
         return 'wrong'
       }
     }
     console.log(JSON.stringify(cases.map(isFine)))`,
  )
  expect(judged).toEqual([159, 'wrong', 'wrong', 'wrong', 'wrong'])
})

test('an unknown option, a section that is none, or --check without figures prints the usage and no stack', () => {
  for (const args of [['--quik'], ['--only', 'spead'], ['--check']]) {
    const { status, stderr } = node([join(source, 'main.mjs'), ...args])
    expect(status).toBe(2)
    expect(stderr).toContain('npm run bench -- [options]')
    expect(stderr).toContain(args.at(-1))
    expect(stderr).not.toContain('    at ')
  }
})

test('several files are one run with the commands of all, and rough is what --quick measured', () => {
  const run: Run = JSON.parse(readFileSync(committed, 'utf8'))
  const { 'speed-1': speed = {}, bytes = {} } = run.sections
  const { commands: _, ...others } = run
  const files = [
    { command: 'npm run bench -- --only speed-1', pace: 'full', sections: { 'speed-1': speed } },
    { command: 'npm run bench -- --quick --only bytes', pace: 'quick', sections: { bytes } },
  ].map((one, i) => {
    const file = join(folder, `part-${i}.json`)
    const sections = Object.entries(one.sections).map(([name, { grids }]) => [name, { grids, seconds: 1 }])
    writeFileSync(file, JSON.stringify({ ...others, ...one, sections: Object.fromEntries(sections) }))
    return file
  })
  const page = printed(
    'report/page.mjs',
    'pageOf',
    `import { readRuns } from '${pathToFileURL(join(source, 'report/read.mjs')).href}'
     console.log(JSON.stringify(pageOf(readRuns(${JSON.stringify(files)}), {})))`,
  )
  expect(page).toContain(
    '| commands | `npm run bench -- --only speed-1`, `npm run bench -- --quick --only bytes` |',
  )
  expect(page).toContain("so these are rough: *Redis's memory*.")
})

test('of Memcached every command is counted, and requests of one tenant that come together are one', async () => {
  const server = await startMemcached()
  try {
    const counted = printed(
      'kit/memcached.mjs',
      'fieldOf, openClients, openMonitor',
      `const clients = openClients('${server.address}')
       const monitor = await openMonitor(${server.port})
       const counted = {}
       for (const [name, { decide, allowed }] of fieldOf(clients, { quota: 1000, windowMs: 3_600_000 })) {
         allowed(await decide('acme'), false)
         const before = await monitor.work()
         const answers = await Promise.all(Array.from({ length: 64 }, () => decide('acme')))
         if (!answers.every((answer) => allowed(answer, false))) throw new Error('denied')
         const after = await monitor.work()
         counted[name] = [after.changes - before.changes, after.reads - before.reads]
       }
       console.log(JSON.stringify(counted))
       process.exit()`,
    ) as Record<string, number[]>
    const { 'Tollgate: by address': own, 'rate-limiter-flexible, package memcached': flexible } = counted
    expect(flexible).toEqual([64, 64])
    const [changes = 0, reads = 0] = own ?? []
    expect(changes).toBeGreaterThanOrEqual(1)
    expect(changes + reads).toBeLessThan(64)
  } finally {
    await server.kill()
  }
})

test('a decision counts in a window that it lies in wholly', () => {
  const most = printed(
    'kit/windows.mjs',
    'mostInWindow',
    `const decisions = [[0, 1], [40, 60], [90, 100], [95, 101], [141, 142], [199, 201]]
     console.log(JSON.stringify([100, 49, 50, 0].map((ms) => mostInWindow(decisions, ms))))`,
  )
  expect(most).toEqual([3, 2, 2, 0])
})

test('goals on Memcached are judged by the figures', () => {
  const row = 'Tollgate: by address'
  const { stdout } = bench([], ({ sections }) => {
    const figures = sections['memcached-accuracy']?.grids?.accuracy?.[row]
    if (!figures) throw new Error('The committed run has no such figures')
    figures.share = [0.96]
    figures.most = [400]
  })
  const [, goals = ''] = stdout.split('## To reach')
  expect(goals).toMatch(/most in a window that is 0.25 s shorter.*\| 400 \| not reached/)
  expect(goals).toMatch(/of what an exact counter lets in.*\| 0.96 \| not reached/)
})

test('CPU beside the same headers by hand is judged by framework, and says when it was not on one core', () => {
  const rows = (ours: number) => ({
    'no limiter': { cpuUs: [9, 9, 9] },
    'by hand': { cpuUs: [10, 10, 10] },
    'Tollgate: sliding log 100/min': { cpuUs: [ours, ours, ours] },
    'koa-ratelimit': { cpuUs: [14, 14, 14] },
    '@fastify/rate-limit': { cpuUs: [15, 15, 15] },
    'by hand, again': { cpuUs: [10, 10, 10] },
  })
  const grids = { 'Fastify, allowed': rows(13), 'Koa, allowed': rows(10.5), 'Koa, denied': rows(11) }
  grids['Koa, denied']['by hand, again'].cpuUs = [20, 20, 20]
  const render = (placement: string) =>
    bench([], ({ sections }) => Object.assign(sections, { 'http-cpu': { grids, placement, seconds: 1 } }))
      .stdout
  const text = render('together')
  expect(text).toMatch(/on Fastify, memory store, x by hand: allowed \| <= 1.12 \| 1.30 \| not reached/)
  expect(text).toMatch(/on Koa, memory store, x by hand: allowed \| <= 1.06 \| 1.05 \| reached/)
  expect(text).toMatch(/on Koa, memory store, x by hand: denied \| <= 1.1 \| {2}\| too noisy to judge/)
  expect(text).not.toContain('Not pinned to one core')
  expect(render('free')).toContain('Not pinned to one core')
})

test('of an import the files and bytes of one format are told, whether they are bundles or not', () => {
  const found = printed(
    'sections/import.mjs',
    'imported, required, sizesOf',
    `const rows = [imported('@tollgate/core'), required('@tollgate/core'), imported('koa-ratelimit')]
     console.log(JSON.stringify(rows.map(sizesOf)))`,
  ) as { files: number[]; loadedKb: number[]; packageKb: number[] }[]
  const dist = join(root, 'packages/core/dist')
  // Node never loads the entry for browsers.
  const kbOf = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js') && name !== 'browser.js')
      .reduce((sum, name) => sum + statSync(join(folder, name)).size / 1000, 0)
  const [asModule, asCommonJs, koa] = found
  expect(asModule?.packageKb[0]).toBeCloseTo(kbOf(join(dist, 'esm')), 3)
  expect(asCommonJs?.packageKb[0]).toBeCloseTo(kbOf(join(dist, 'cjs')), 3)
  for (const one of [asModule, asCommonJs]) {
    const { files: [files = 0] = [], loadedKb: [loaded = 0] = [], packageKb: [all = 0] = [] } = one ?? {}
    expect(files).toBeGreaterThanOrEqual(1)
    expect(loaded).toBeGreaterThan(all / 2)
    expect(loaded).toBeLessThanOrEqual(all)
  }
  // Dependencies are loaded with it, and are not its own.
  expect(koa?.loadedKb[0]).toBeGreaterThan(koa?.packageKb[0] ?? Infinity)
})
