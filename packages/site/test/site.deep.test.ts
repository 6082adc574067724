// The built site, in a real Chromium: what every page has to be, and the tests of these checks on pages that are bad.
import { eventually } from '@tollgate/testing'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findChromium } from '@tollgate/testing/browser'
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import { navigationOf, pagesOf } from '../src/navigation.ts'

const root = resolve(__dirname, '../../..')
const scratch = mkdtempSync(join(tmpdir(), 'tollgate-site-'))
const folder = join(scratch, 'site')
const PHONE = { width: 375, height: 812 }
const DESKTOP = { width: 1280, height: 800 }

/** Pages of all kinds: lists, programs, tables, pictures, long headings. */
const CHOSEN = [
  '/',
  '/docs',
  '/guides/plans-and-limits',
  '/operations/redis',
  '/reference/errors',
  '/compare/benchmarks',
  '/compare/features',
  '/migrate-from/express-rate-limit',
  '/no-such-page',
]

let server: ChildProcess
let browser: Browser
let home: string

beforeAll(async () => {
  server = startBuild(root, '--serve', '--out', folder)
  home = await addressOf(server)
  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
})

afterAll(async () => {
  await browser?.close()
  if (server.exitCode === null && server.kill()) await once(server, 'exit')
  rmSync(scratch, { recursive: true })
})

function startBuild(repository: string, ...args: string[]): ChildProcess {
  const main = join(repository, 'packages/site/src/main.mjs')
  return spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** The address that a server prints. @throws what it printed, if it ends without one */
async function addressOf(child: ChildProcess): Promise<string> {
  let printed = ''
  return new Promise((found, failed) => {
    const read = (text: Buffer): void => {
      printed += String(text)
      const [, address] = /(http:\/\/127\.0\.0\.1:\d+)\/\n/.exec(printed) ?? []
      if (address !== undefined) found(address)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', () => failed(new Error(printed)))
  })
}

interface Opened {
  readonly page: Page
  /** Errors of the page, and its requests to other hosts. */
  readonly faults: string[]
}

/** Runs `work` with a page of its own browser profile. Requests to other hosts are faults, and get no answer. */
async function withPage<T>(options: BrowserContextOptions, work: (opened: Opened) => Promise<T>): Promise<T> {
  const context = await browser.newContext(options)
  const faults: string[] = []
  await context.route('**', (route) => {
    const address = route.request().url()
    if (new URL(address).origin === home) return route.continue()
    faults.push(`asks for ${address}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  try {
    return await work({ page, faults })
  } finally {
    await context.close()
  }
}

/** Opens a page, and waits until its scripts run. */
async function open(page: Page, path: string): Promise<number | undefined> {
  const answer = await page.goto(home + path)
  await page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}))
  return answer?.status()
}

/** How far a page is wider than its window, in pixels. */
const overhangOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** What axe finds, as the rule's name and the elements. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: require.resolve('axe-core/axe.min.js') })
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe.run(),
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** The addresses of all pages that were built. */
const built = (): string[] =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.html') && name !== '404.html' && !name.startsWith('playground'))
    .map((name) => `/${name.replace(/(^|\/)index\.html$|\.html$/, '$1')}`)

test('every page of docs is built, and llms.txt has a line for each', () => {
  expect(built()).toHaveLength(pagesOf(root).length + 1)
  const index = readFileSync(join(folder, 'llms.txt'), 'utf8')
  const entries = navigationOf(root).flatMap((section) => section.entries)
  expect(index.match(/^- \[.+$/gm)).toHaveLength(entries.length)
  for (const [, path = ''] of index.matchAll(/\]\(\/([^)#]+)/g)) {
    expect(readFileSync(join(folder, path), 'utf8')).toMatch(/^# /m)
  }
  const full = readFileSync(join(folder, 'llms-full.txt'), 'utf8')
  const titles = pagesOf(root)
    .filter((page) => page !== 'docs/README.md')
    .map((page) => /^# .+$/m.exec(readFileSync(join(root, page), 'utf8'))?.[0])
  expect(titles.filter((title = '') => !full.includes(`${title}\n`))).toEqual([])
})

test('all pages load without an error, a request to another host, or a sideways scroll', async () => {
  const faults = await withPage({}, async (opened) => {
    for (const path of built()) {
      await opened.page.setViewportSize(DESKTOP)
      const status = await open(opened.page, path)
      if (status !== 200) opened.faults.push(`${path} answers ${status}`)
      for (const viewport of [DESKTOP, PHONE]) {
        await opened.page.setViewportSize(viewport)
        const overhang = await overhangOf(opened.page)
        if (overhang > 0) opened.faults.push(`${path} is ${overhang} px wider than ${viewport.width}`)
      }
    }
    return opened.faults
  })
  expect(faults).toEqual([])
})

test.each([
  ['light', 'a desktop', DESKTOP],
  ['dark', 'a phone', PHONE],
] as const)('axe finds nothing in %s, on %s', async (colorScheme, _, viewport) => {
  await withPage({ viewport, colorScheme, reducedMotion: 'reduce' }, async ({ page }) => {
    for (const path of CHOSEN) {
      await open(page, path)
      expect({ path, violations: await violationsOf(page) }).toEqual({ path, violations: [] })
    }
  })
})

test('an address without a page answers 404, and leads on', async () => {
  await withPage({ viewport: DESKTOP }, async ({ page }) => {
    expect(await open(page, '/no-such-page')).toBe(404)
    await page.getByRole('main').getByRole('link', { name: 'all pages' }).click()
    await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor()
  })
})

test('the search finds a page by keyboard, without another host', async () => {
  const faults = await withPage({ viewport: DESKTOP, reducedMotion: 'reduce' }, async (opened) => {
    const { page } = opened
    await open(page, '/')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('ERR_TOLLGATE_CONFIG')
    await page.locator('#search-results [data-link*="/reference/errors"]').first().waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/reference\/errors/)
    return opened.faults
  })
  expect(faults).toEqual([])
})

/** What the search finds, as `path › title` and the excerpt. */
async function found(page: Page, query: string): Promise<{ title: string; excerpt: string }[]> {
  const box = page.getByRole('combobox')
  // The page does not hear keys before its script has run.
  await eventually(async () => {
    if (!(await box.isVisible())) await page.keyboard.press('Control+k')
    return box.isVisible()
  })
  await box.fill(query)
  const results = page.locator('#search-results li')
  await results.first().waitFor()
  const all = await results.evaluateAll((items) =>
    items.map((item) => ({
      title: [...item.querySelectorAll('.above')].map((one) => `${one.textContent} › `).join(''),
      name: item.querySelector('.title')?.textContent ?? '',
      excerpt: item.querySelector('.excerpt')?.textContent ?? '',
    })),
  )
  await page.keyboard.press('Escape')
  return all.map(({ title, name, excerpt }) => ({ title: title || name, excerpt }))
}

test('small words do not decide what the search finds first, and excerpts have no labels of code', async () => {
  await withPage({ viewport: DESKTOP, reducedMotion: 'reduce' }, async ({ page }) => {
    await open(page, '/')
    const [first] = await found(page, 'charge tokens after response')
    expect(first?.title).toMatch(/token|Costs known late/i)
    const [limits] = await found(page, 'retry after header')
    expect(limits?.title).toMatch(/headers/i)
    const all = [...(await found(page, 'redisStore')), ...(await found(page, 'npm install'))]
    const glued = all.filter(({ excerpt }) =>
      /\b(?:jsimport|shnpm|typescript(?:interface|type))/.test(excerpt),
    )
    expect(glued).toEqual([])
    const api = await found(page, 'tollgate/core')
    expect(api.filter(({ title }) => /(@tollgate\/\w+) › \1(?: |$)/.test(title))).toEqual([])
  })
})

test('a wide table fits a desktop, and on a phone the comparison of the home page has all its cells', async () => {
  await withPage({ viewport: DESKTOP, reducedMotion: 'reduce' }, async ({ page }) => {
    await open(page, '/compare/features')
    const cut = await page
      .locator('.vp-doc table')
      .evaluateAll((tables) => tables.filter((one) => one.scrollWidth > one.clientWidth + 1).length)
    expect(cut).toBe(0)
    await page.setViewportSize(PHONE)
    await open(page, '/')
    const cells = page.getByRole('table').getByRole('row').last().getByRole('cell')
    expect(await cells.count()).toBe(3)
    for (const cell of await cells.all()) {
      const { x, width } = (await cell.boundingBox()) ?? { x: NaN, width: NaN }
      expect([x >= 0, x + width <= PHONE.width]).toEqual([true, true])
    }
  })
})

test('the first stop of the keyboard skips to the content, and the mode stays chosen', async () => {
  await withPage({ viewport: DESKTOP, colorScheme: 'light' }, async ({ page }) => {
    await open(page, '/guides/leases')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('Skip to content')
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'))
    expect(await isDark()).toBe(false)
    await page.getByRole('switch').first().click()
    expect(await isDark()).toBe(true)
    await open(page, '/guides/waiting')
    expect(await isDark()).toBe(true)
  })
})

/** How light the paper of a picture is, from 0 to 255: its pixel near the lower left corner. */
async function paperOf(page: Page, picture: Locator): Promise<number> {
  await picture.scrollIntoViewIfNeeded()
  await page.waitForFunction((image) => (image as HTMLImageElement).complete, await picture.elementHandle())
  const png = (await picture.screenshot()).toString('base64')
  return page.evaluate(async (data) => {
    const image = new Image()
    image.src = `data:image/png;base64,${data}`
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    const context = canvas.getContext('2d')
    context?.drawImage(image, 12, image.height - 12, 1, 1, 0, 0, 1, 1)
    return context?.getImageData(0, 0, 1, 1).data[1] ?? NaN
  }, png)
}

test('pictures and charts follow the mode that is chosen, not that of the system', async () => {
  await withPage({ viewport: DESKTOP, colorScheme: 'light', reducedMotion: 'reduce' }, async ({ page }) => {
    for (const path of ['/', '/guides/plans-and-limits', '/compare/benchmarks']) {
      await open(page, path)
      const picture = page.getByRole('main').getByRole('img').first()
      const light = await paperOf(page, picture)
      await page.getByRole('switch').first().click()
      const dark = await paperOf(page, picture)
      await page.getByRole('switch').first().click()
      expect({ path, light: light > 240, dark: dark < 30 }).toEqual({ path, light: true, dark: true })
    }
  })
})

test('the checks see a page that is bad', async () => {
  await withPage({ viewport: PHONE }, async ({ page, faults }) => {
    await open(page, '/docs')
    await page.evaluate(() => {
      document.body.innerHTML = '<div style="width: 900px"><img src="https://example.com/a.png"></div>'
      console.error('a fault')
    })
    await page.waitForFunction(() => document.images[0]?.complete)
    expect(await overhangOf(page)).toBeGreaterThan(500)
    expect(await violationsOf(page)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^image-alt: <img/)]),
    )
    expect(faults).toEqual(expect.arrayContaining(['asks for https://example.com/a.png', 'a fault']))
  })
})

test.each([
  ['file', '[x](no-such-page.md)', 'docs/guides/leases.md: the link no-such-page.md leads to no file'],
  [
    'heading',
    '[x](waiting.md#no-such-heading)',
    'guides/leases.html: /guides/waiting#no-such-heading leads to no heading',
  ],
])('a link to no %s fails the build', async (kind, link, fault) => {
  const copy = join(scratch, kind)
  mkdirSync(join(copy, 'packages'), { recursive: true })
  cpSync(join(root, 'docs'), join(copy, 'docs'), { recursive: true })
  const isBuilt = /node_modules|dist$|\.temp$/
  cpSync(join(root, 'packages/site'), join(copy, 'packages/site'), {
    recursive: true,
    filter: (name) => !isBuilt.test(name.slice(root.length)),
  })
  const others = readdirSync(root).filter((name) => !/^(docs|packages|node_modules|\..*)$/.test(name))
  const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'site')
  for (const path of [
    ...others,
    ...packages.map((name) => `packages/${name}`),
    'packages/site/node_modules',
  ]) {
    symlinkSync(join(root, path), join(copy, path))
  }
  writeFileSync(join(copy, 'docs/guides/leases.md'), `# Leases\n\n${link}\n`)
  await expect(addressOf(startBuild(copy, '--serve'))).rejects.toThrow(fault)
})
