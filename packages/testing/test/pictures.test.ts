// The pictures of the docs are what npm run pictures draws from real runs, from core's defaults and from ARCHITECTURE.md.
// They and the charts of the benchmarks suit light and dark pages.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { markdown, root, textOf } from './docs-pages.ts'

const source = join(root, 'packages/benchmarks/src/pictures')
const names = readdirSync(join(root, 'docs/pictures'))
const drawings = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.svg'))
  .map((name) => `docs/${name.replaceAll('\\', '/')}`)
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

test.each(drawings)('%s says in words what it shows, and needs nothing from elsewhere', (path) => {
  const svg = textOf(path)
  expect(svg).toMatch(/<title id="title">.{10,}<\/title>\n<desc id="desc">.{50,}<\/desc>/)
  expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(
    /https?:|href|<script|<image|@import|url\(/,
  )
})

const PALETTES =
  /\n {2}svg \{([^}]+)\}\n {2}@media \(prefers-color-scheme: dark\) \{\n {4}svg \{([^}]+)\}\n {2}\}/

/** The colours of a picture by name, on light and on dark pages. */
function palettesOf(svg: string): Record<string, string>[] {
  const [, light = '', dark = ''] = PALETTES.exec(svg) ?? []
  return [light, dark].map((palette) =>
    Object.fromEntries([...palette.matchAll(/--([\w-]+): (#[\da-f]{6})/g)].map(([, ...pair]) => pair)),
  )
}

test.each(drawings)('%s has each colour for light and for dark pages, and no other', (path) => {
  const svg = textOf(path)
  const [light = {}, dark = {}] = palettesOf(svg)
  expect(Object.keys(light)).toContain('card')
  expect(Object.keys(dark)).toEqual(Object.keys(light))
  const names = [...svg.matchAll(/var\(--([\w-]+)\)/g)].map(([, name]) => name)
  // A class sets these two to colours of the palette.
  expect([...Object.keys(light), 'c', 'f']).toEqual(expect.arrayContaining(names))
  const rest = svg.replace(PALETTES, '')
  const paints = [...rest.matchAll(/\b(?:fill|stroke|color|stop-color)(?:="|: *)([^;"} ]+)/g)]
  expect(
    paints.map(([, paint]) => paint).filter((paint) => !/^(none|var\(--[\w-]+\))$/.test(paint ?? '')),
  ).toEqual([])
})

/** How much lighter one colour is than the other, as WCAG 2 measures it. */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [one, other].map(luminance).toSorted((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((i) => Number.parseInt(colour.slice(i, i + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

test('all pictures and charts have the same colours, and text stands out from all grounds', () => {
  const all = drawings.map((path) => palettesOf(textOf(path)))
  expect(new Set(all.map((palettes) => JSON.stringify(palettes))).size).toBe(1)
  for (const palette of all[0] ?? []) {
    const colour = (name: string): string => palette[name] ?? ''
    const grounds = ['card', 'fill', 'blue-fill', 'orange-fill', 'green-fill']
    const pairs = [
      ...grounds.flatMap((ground) => ['ink', 'soft'].map((text) => [text, ground])),
      ...['blue', 'orange', 'green'].map((text) => [text, 'card']),
    ]
    const faint = pairs.filter(([text = '', ground = '']) => !(contrast(colour(text), colour(ground)) >= 4.5))
    expect(faint).toEqual([])
  }
})

test('in a chart of bars ours have a bold name, a stroke at the edge and a solid bar, others none of these', () => {
  const bars = drawings
    .map((path) => [path, textOf(path)] as const)
    .filter(([, svg]) => svg.includes('c-other"'))
  expect(bars).not.toEqual([])
  for (const [path, svg] of bars) {
    const count = (pattern: RegExp): number => svg.match(pattern)?.length ?? 0
    const ours = count(/class="strong"[^>]*>Tollgate: /g)
    expect({ path, bold: count(/class="strong"/g) }).toEqual({ path, bold: ours })
    expect({ path, edges: count(/<rect x="0.5" [^>]*width="5" [^>]*"paint c-blue"/g) }).toEqual({
      path,
      edges: ours,
    })
    expect(count(/rx="3" class="paint c-blue"/g)).toBeGreaterThanOrEqual(ours)
    expect(count(/rx="3" class="tint c-other"/g)).toBeGreaterThan(0)
  }
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
