// The built page in a real Chromium: what it shows against counting by hand, links, keyboard, accessibility.
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type * as Axe from 'axe-core'
import { findChromium } from '@tollgate/testing/browser'
import { chromium, type Browser, type Page } from 'playwright-core'

const dist = join(__dirname, '../dist')
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/playground/': [join(dist, 'index.html'), 'text/html'],
  '/playground/playground.js': [join(dist, 'playground.js'), 'text/javascript'],
  '/playground/playground.css': [join(dist, 'playground.css'), 'text/css'],
  '/core.js': [
    require.resolve('@tollgate/core/package.json').replace('package.json', 'dist/esm/browser.js'),
    'text/javascript',
  ],
}

let server: Server
let browser: Browser
let page: Page
let origin: string
/** What pages asked for, and what went wrong in them. */
const asked = new Set<string>()
const troubles: string[] = []

beforeAll(async () => {
  server = createServer((req, res) => {
    const [file, type] = FILES[req.url ?? ''] ?? []
    if (file === undefined) return res.writeHead(404).end()
    return res.writeHead(200, { 'Content-Type': type }).end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
})

afterAll(async () => {
  await browser?.close()
  server?.close()
})

afterEach(async () => {
  await page?.context().close()
  expect(troubles.splice(0)).toEqual([])
})

interface Opening {
  readonly hash?: string
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  readonly moves?: boolean
}

async function open({
  hash = '',
  width = 1280,
  scheme = 'light',
  moves = false,
}: Opening = {}): Promise<void> {
  const viewport = { width, height: 900 }
  const reducedMotion = moves ? 'no-preference' : 'reduce'
  const context = await browser.newContext({ viewport, colorScheme: scheme, reducedMotion })
  page = await context.newPage()
  page.on('request', (request) => asked.add(request.url()))
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
  await page.goto(`${origin}/playground/${hash}`)
  await page.locator('.lane.tollgate .worst').waitFor()
}

type Row = readonly [asked: number, admitted: number, denied: number, worst: number, over: number]

/** The table, by limiter. */
async function table(): Promise<Record<string, Row>> {
  const rows = await page
    .locator('#numbers tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
  return Object.fromEntries(rows.map(([name, ...cells]) => [name, cells.map(Number) as unknown as Row]))
}

/** The same, by counting: each request against all that were admitted before. */
function counted(times: readonly number[], quota: number, windowMs: number): Record<string, Row> {
  const admittedBy = (used: (passed: readonly number[], at: number) => number): number[] => {
    const passed: number[] = []
    for (const at of times) if (used(passed, at) < quota) passed.push(at)
    return passed
  }
  const log = admittedBy((passed, at) => passed.filter((one) => one > at - windowMs).length)
  const fixed = admittedBy((passed, at) => {
    return passed.filter((one) => Math.floor(one / windowMs) === Math.floor(at / windowMs)).length
  })
  let begin = -Infinity
  const express = admittedBy((passed, at) => {
    if (at >= begin + windowMs) begin = at
    return passed.filter((one) => one >= begin).length
  })
  const row = (passed: readonly number[]): Row => {
    const worst = Math.max(
      0,
      ...passed.map((end) => passed.filter((one) => one > end - windowMs && one <= end).length),
    )
    return [times.length, passed.length, times.length - passed.length, worst, Math.max(worst - quota, 0)]
  }
  return { 'Fixed window': row(fixed), 'express-rate-limit': row(express), Tollgate: row(log) }
}

const burst = (count: number, at: number): number[] => Array.from({ length: count }, () => at)
const even = (count: number, from: number, to: number): number[] =>
  burst(count, 0).map((_, i) => Math.floor(from + (i / count) * (to - from)))

test('the first scene shows in a second why it matters, and asks nobody else', async () => {
  asked.clear()
  await open({ moves: true })
  expect(await page.locator('#headline').innerText()).toBe(
    'The limit is 100 a minute. In the busiest minute, Tollgate lets 100 in, the other two 199.',
  )
  // It begins as a film, which is over once it can be run again.
  await page.locator('#run', { hasText: 'Run' }).waitFor()
  expect(await page.locator('.worst').allInnerTexts()).toEqual(['199', '199', '100'])
  expect(await page.locator('.verdict').allInnerTexts()).toEqual([
    ...['99 over the limit', '99 over the limit', 'within the limit'],
  ])
  expect(await table()).toEqual(counted([0, ...burst(100, 59_000), ...burst(100, 61_000)], 100, 60_000))
  expect(await page.locator('#next').innerText()).toMatch(/^HTTP\/1\.1 429[\s\S]*Retry-After: 58/)
  expect([...asked].sort()).toEqual(
    Object.keys(FILES)
      .filter((path) => path !== '/core.js')
      .map((path) => origin + path)
      .sort(),
  )
})

test('it also works when it is opened as a file, with the link of a scene', async () => {
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  page = await context.newPage()
  page.on('pageerror', (error) => troubles.push(error.message))
  await page.goto(`file://${join(dist, 'index.html')}#traffic=flood`)
  expect(await page.getByLabel('One flood').isChecked()).toBe(true)
  expect(await page.getByRole('navigation').getByRole('link').allInnerTexts()).toEqual(['GitHub'])
  await page.getByLabel('Steady').check()
  expect(page.url()).toMatch(/#traffic=steady$/)
  expect((await table())['Tollgate']?.[3]).toBe(100)
})

test('the switch changes the mode, which stays chosen, also for the site', async () => {
  await open({ scheme: 'light' })
  const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await paper()
  const toggle = page.getByRole('switch', { name: 'Dark mode' })
  await toggle.click()
  expect(await paper()).not.toBe(light)
  expect(await page.evaluate(() => localStorage.getItem('vitepress-theme-appearance'))).toBe('dark')
  await page.reload()
  expect([await toggle.isChecked(), (await paper()) === light]).toEqual([true, false])
  await toggle.click()
  expect([await toggle.isChecked(), await paper()]).toEqual([false, light])
})

test.each([
  ['100/min', '30 from 0s to 30s, 90 at 59.5s, 80 at 61s, 40 at 119.6s', 100, 60_000],
  ["['7/s']", '20 from 0s to 1s, 15 at 1s, 30 from 1.5s to 4s', 7, 1000],
  ['5 per 2 h', '3 at 1h, 5 at 119min, 5 at 121min, 9 from 3h to 9h', 5, 7_200_000],
])('what is shown of %s is what counting finds', async (limit, traffic, quota, windowMs) => {
  const minutes = 60_000
  const times = {
    '100/min': [...even(30, 0, 30_000), ...burst(90, 59_500), ...burst(80, 61_000), ...burst(40, 119_600)],
    "['7/s']": [...even(20, 0, 1000), ...burst(15, 1000), ...even(30, 1500, 4000)],
    '5 per 2 h': [
      ...burst(3, 60 * minutes),
      ...[...burst(5, 119 * minutes), ...burst(5, 121 * minutes), ...even(9, 180 * minutes, 540 * minutes)],
    ],
  }[limit]!
  await open()
  await page.getByLabel('Limit', { exact: true }).fill(limit)
  await page.getByLabel('Requests').fill(traffic)
  expect(await page.getByLabel('My own').isChecked()).toBe(true)
  expect(await table()).toEqual(counted(times, quota, windowMs))
  // At each of some times on the way, too.
  for (const at of [times[0]!, times[12]!, times[17]!]) {
    const rewound = times.filter((one) => one <= at)
    await page.getByRole('button', { name: 'Rewind' }).click()
    // A time before the first request counts as a step of its own.
    const steps = new Set(rewound.filter((one) => one > 0)).size
    for (let i = 0; i < steps; i += 1) await page.getByRole('button', { name: 'Step' }).click()
    expect(await table()).toEqual(counted(rewound, quota, windowMs))
  }
})

test('other algorithms, patterns and seeds change what is shown', async () => {
  await open()
  const seen = new Set<string>()
  for (const algorithm of ['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket']) {
    await page.getByLabel('Tollgate’s algorithm').selectOption(algorithm)
    seen.add(JSON.stringify((await table())['Tollgate']))
    expect(await page.locator('.lane.tollgate .hint').innerText()).toContain(algorithm)
  }
  expect(seen.size).toBeGreaterThanOrEqual(3)
  await page.getByLabel('Tollgate’s algorithm').selectOption('sliding-log')
  const requests = new Set<string>()
  for (const pattern of ['Steady', 'One flood', 'Random', 'Bursts at the seam']) {
    await page.getByLabel(pattern, { exact: true }).check()
    requests.add(await page.getByLabel('Requests').inputValue())
    expect((await table())['Tollgate']?.[4]).toBe(0)
  }
  expect(requests.size).toBe(4)
  await page.getByLabel('Random', { exact: true }).check()
  const before = await page.locator('.lane.tollgate path.admitted').getAttribute('d')
  await page.getByRole('button', { name: 'Shuffle' }).click()
  expect(await page.locator('.lane.tollgate path.admitted').getAttribute('d')).not.toBe(before)
})

test('a link holds all settings', async () => {
  await open()
  await page.getByLabel('Limit', { exact: true }).fill("['20/s', '300/min']")
  await page.getByLabel('Tollgate’s algorithm').selectOption('sliding-window')
  await page.getByLabel('Random', { exact: true }).check()
  await page.getByRole('button', { name: 'Shuffle' }).click()
  const [shown, link] = [await table(), page.url()]
  expect(shown['Tollgate']?.[1]).toBeGreaterThan(0)
  await page.context().close()
  await open({ hash: new URL(link).hash })
  expect(await table()).toEqual(shown)
  expect(await page.getByLabel('Limit', { exact: true }).inputValue()).toBe("['20/s', '300/min']")
  expect(await page.getByLabel('Random', { exact: true }).isChecked()).toBe(true)
  await page.getByRole('button', { name: 'Start over' }).click()
  expect(new URL(page.url()).hash).toBe('')
  expect(await page.locator('.worst').allInnerTexts()).toEqual(['199', '199', '100'])
})

test('what is typed is shown, even if the browser no longer lets the page change its address', async () => {
  await open()
  await page.evaluate(() => {
    history.replaceState = () => {
      throw new DOMException('100 times per 10 seconds', 'SecurityError')
    }
    const copied: string[] = []
    Object.assign(globalThis, { copied })
    navigator.clipboard.writeText = async (text) => void copied.push(text)
  })
  await page.getByLabel('Limit', { exact: true }).fill('50/min')
  expect(await page.locator('#headline').innerText()).toContain('Tollgate lets 50 in')
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.locator('#copied', { hasText: 'all settings' }).waitFor()
  expect(await page.evaluate(() => (globalThis as unknown as { copied: string[] }).copied)).toEqual([
    `${origin}/playground/#limit=50%2Fmin`,
  ])
})

test('a mistake is explained in the words of Tollgate, and the picture stays', async () => {
  await open({ hash: '#limit=100%2Ffortnight' })
  const error = page.locator('#limit-error')
  expect(await error.innerText()).toContain("limit[0]: got '100/fortnight'")
  expect(await page.locator('.worst').allInnerTexts()).toEqual(['199', '199', '100'])
  await page.getByLabel('Limit', { exact: true }).fill('5 concurrent')
  expect(await error.innerText()).toContain('in flight')
  await page.getByLabel('Limit', { exact: true }).fill('100/min')
  expect(await error.isVisible()).toBe(false)
  await page.getByLabel('Requests').fill('many')
  expect(await page.locator('#own-error').innerText()).toContain('“many” is no traffic')
  expect(await page.getByLabel('Requests').getAttribute('aria-invalid')).toBe('true')
})

test('everything works with the keyboard alone', async () => {
  await open()
  const reached: string[] = []
  for (let i = 0; i < 22; i += 1) {
    await page.keyboard.press('Tab')
    reached.push(
      await page.evaluate(() => document.activeElement?.id || document.activeElement?.className || ''),
    )
  }
  expect(reached).toEqual(
    expect.arrayContaining([
      'mode',
      'run',
      'step',
      'rewind',
      'time',
      'speed',
      'limit',
      'algorithm',
      'pattern-seam',
      'own',
      'copy',
      'first',
      'next',
    ]),
  )
  const focus = (id: string): Promise<void> => page.locator(`#${id}`).focus()
  await focus('rewind')
  await page.keyboard.press('Enter')
  expect((await table())['Tollgate']?.[0]).toBe(1)
  await focus('step')
  await page.keyboard.press('Space')
  expect((await table())['Tollgate']?.[0]).toBe(101)
  await focus('time')
  await page.keyboard.press('End')
  expect(await page.locator('#clock').innerText()).toBe('2min')
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  expect(await page.locator('#time').getAttribute('aria-valuetext')).toBe('100ms')
  await focus('pattern-seam')
  await page.keyboard.press('ArrowRight')
  expect(await page.getByLabel('Steady').isChecked()).toBe(true)
  await focus('algorithm')
  await page.keyboard.press('ArrowDown')
  expect(await page.locator('#algorithm').inputValue()).toBe('sliding-window')
  await focus('run')
  await page.keyboard.press('Enter')
  expect(await page.locator('#run').innerText()).toBe('Pause')
  await page.keyboard.press('Enter')
  expect(await page.locator('#run').innerText()).toBe('Run')
})

/** What axe finds: the rules that are broken, and where. */
async function brokenRules(): Promise<string[]> {
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof Axe }
    const { violations } = await axe.run(document)
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  })
}

describe.each([375, 1280])('%i px wide', (width) => {
  test.each(['light', 'dark'] as const)('axe finds nothing, and nothing is cut off: %s', async (scheme) => {
    await open({ width, scheme })
    expect(await brokenRules()).toEqual([])
    await page.getByLabel('Random', { exact: true }).check()
    await page.getByLabel('Limit', { exact: true }).fill('100/fortnight')
    expect(await brokenRules()).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  })
})

test('each lane says in words what it shows', async () => {
  await open()
  const labels = await page
    .getByRole('img')
    .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
  expect(labels).toEqual([
    'Fixed window: 200 let in, 1 denied, at most 199 in one minute',
    'express-rate-limit: 200 let in, 1 denied, at most 199 in one minute',
    'Tollgate: 101 let in, 100 denied, at most 100 in one minute',
  ])
})

/** As text, since the compiler of the tests would replace `import`. */
const CORE_IN_PAGE = `(async () => {
  const { createLimiter, memoryStore } = await import('/core.js')
  const line = createLimiter({ plans: { free: { limits: '1/2s burst 2', wait: { maxDelay: '4s' } } } })
  const waited = await Promise.all([1, 2, 3].map(() => line.consume('acme')))
  await line.close()
  const hidden = createLimiter({ limit: '1/min', hashIds: 'a secret of a page', store: memoryStore() })
  const odd = '\\ud83c'.repeat(100)
  const addresses = ['2001:db8::1', '2001:db8:0::2', '::ffff:10.0.0.1', '10.0.0.1']
  const subjects = [odd, odd, ...addresses.map((id) => ({ id, kind: 'ip' }))]
  const all = await Promise.all(subjects.map((id) => hidden.consume(id)))
  return { sources: waited.map(({ source }) => source), allowed: all.map(({ allowed }) => allowed) }
})()`

test('core itself: waits, secrets and addresses, with the timers of the page', async () => {
  await open()
  const found = await page.evaluate(CORE_IN_PAGE)
  expect(found).toEqual({
    sources: ['store', 'store', 'place'],
    allowed: [true, false, true, false, true, false],
  })
})
