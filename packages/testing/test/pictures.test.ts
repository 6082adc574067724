// The pictures of the docs are what npm run pictures draws from real runs, from core's defaults and from ARCHITECTURE.md.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { markdown, root, textOf } from './docs-pages.ts'

const source = join(root, 'packages/benchmarks/src/pictures')
const names = readdirSync(join(root, 'docs/pictures'))
const folder = mkdtempSync(join(tmpdir(), 'tollgate-pictures-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program that has what a module of the pictures exports. */
function run(module: string, exported: string, program: string) {
  const file = join(folder, 'program.mjs')
  const url = pathToFileURL(join(source, module)).href
  writeFileSync(file, `import { ${exported} } from '${url}'\n${program}`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('the committed pictures are what the command draws', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(source, 'main.mjs'), '--check'], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(names.length).toBeGreaterThanOrEqual(6)
})

test('at the seam express-rate-limit lets 199 of a limit of 100 through, and Tollgate 100', () => {
  const program = `const count = (all) => all.filter(({ passed }) => passed).length
    const { theirs, ours } = await runSeam()
    const late = (all) => all.filter(({ at }) => at >= 58_000)
    console.log(JSON.stringify([count(late(theirs)), count(late(ours)), theirs.length]))`
  expect(run('seam-run.mjs', 'runSeam', program)).toEqual({
    status: 0,
    stdout: '[199,100,301]\n',
    stderr: '',
  })
})

test.each(names)('%s says in words what it shows, and needs nothing from elsewhere', (name) => {
  const svg = textOf(`docs/pictures/${name}`)
  expect(svg).toMatch(/<title id="title">.{10,}<\/title>\n<desc id="desc">.{50,}<\/desc>/)
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(
    /https?:|href|<script|<image|@import|url\(/,
  )
})

test.each(names)('%s stands on a page, with words for those who cannot see it', (name) => {
  const shown = new RegExp(`!\\[([^\\]]{15,})\\]\\([^)]*pictures/${name.replace('.', '\\.')}\\)`)
  expect(markdown.filter((page) => shown.test(textOf(page)))).not.toEqual([])
})

test('the numbers of an outage and of a lease are the defaults of core', () => {
  const core = (path: string): string => textOf(`packages/core/src/${path}`)
  const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1])
  const guard = core('failure/guard/shard-guard.ts')
  const { stdout } = run('redis-dies.mjs', 'DEFAULTS', 'console.log(JSON.stringify(DEFAULTS))')
  expect(JSON.parse(stdout)).toEqual({
    deadlineMs: numberIn(core('limiter/options/limiter-options.ts'), /deadlineMs = (\d+)/),
    failures: numberIn(guard, /FAILURES = (\d+)/),
    probeEveryMs: numberIn(guard, /PROBE_EVERY_MS = (\d+)/),
  })
  const reserve = run('leases.mjs', 'RESERVE', 'console.log(RESERVE)').stdout
  expect(Number(reserve)).toBe(numberIn(core('features/leases/demand.ts'), /RESERVE = ([\d.]+)/))
})

describe('the house', () => {
  const floorsOf = (page: string) => {
    const program = `console.log(JSON.stringify(floorsOf(${JSON.stringify(page)})))`
    return run('house.mjs', 'floorsOf', program)
  }
  const page = textOf('ARCHITECTURE.md')

  test('has a floor for every folder of core, base at the bottom', () => {
    const floors = JSON.parse(floorsOf(page).stdout) as { names: string[] }[]
    const folders = readdirSync(join(root, 'packages/core/src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    const rooms = floors.flatMap((floor) => floor.names)
    expect(rooms.filter((room) => folders.includes(room)).toSorted()).toEqual(folders.toSorted())
    expect(rooms.at(-1)).toBe('base')
  })

  test('is not drawn where the diagram leaves a folder out', () => {
    const { status, stderr } = floorsOf(page.replace(' --> calendar --> base', ' --> base'))
    expect(status).toBe(1)
    expect(stderr).toContain('ARCHITECTURE.md: the table has base, calendar')
  })
})
