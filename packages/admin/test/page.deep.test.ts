// The real page in a real Chromium, over a real Redis: what it shows, what its forms change, who may, and what it never does.
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLimiter, redisStore, type Limiter, type LimiterOptions, type Rule } from '@tollgate/core'
import { startRedis, testPrefix, testRedisUrl, type RedisServer } from '@tollgate/testing'
import { findChromium } from '@tollgate/testing/browser'
import type * as Axe from 'axe-core'
import { Redis } from 'ioredis'
import { chromium, type Browser, type Locator, type Page } from 'playwright-core'
import { dashboard } from '../src/index.js'
import type { DashboardAction } from '../src/options.js'

const OPTIONS: LimiterOptions = {
  ...{ name: 'shop', defaultPlan: 'free' },
  plans: { free: ['100/h'], pro: ['1000/h', { quota: 50_000, window: 'month' }, '20 concurrent'] },
}

/** An application with the page, and a browser's page that is open there. */
interface Shown {
  readonly limiter: Limiter
  readonly origin: string
  readonly page: Page
  /** What the page asked for. */
  readonly asked: readonly string[]
  /** What went wrong in it. */
  readonly troubles: string[]
}

interface Showing {
  readonly width?: number
  readonly hash?: string
  readonly readOnly?: boolean
  readonly mayDo?: (action: DashboardAction) => boolean
  readonly port?: number
  /** Called before the page opens. */
  readonly before?: (limiter: Limiter) => Promise<unknown>
}

let browser: Browser
const open: (() => unknown)[] = []
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
})
afterAll(() => browser?.close())
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function serve(limiter: Limiter, { readOnly, mayDo }: Showing): Promise<string> {
  const authorize = (_: unknown, action: DashboardAction): unknown =>
    (mayDo?.(action) ?? true) && { by: 'ada' }
  const made = dashboard(limiter, { path: '/_tollgate', readOnly: readOnly === true, authorize })
  const server: Server = createServer((req, res) => made(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function show(showing: Showing = {}): Promise<Shown> {
  const { width = 1280, hash = '', port, before } = showing
  const client = new Redis(port === undefined ? testRedisUrl() : `redis://127.0.0.1:${port}`, {
    ...{ maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, retryStrategy: () => 50 },
  })
  client.on('error', () => {})
  open.push(() => client.disconnect())
  const store = redisStore(client, { prefix: testPrefix() })
  // Where the server answers, a busy machine may be slower than the usual deadline.
  const limiter = createLimiter({ ...OPTIONS, store, ...(port === undefined && { deadlineMs: 10_000 }) })
  open.push(() => limiter.close())
  await before?.(limiter)
  const origin = await serve(limiter, showing)
  const context = await browser.newContext({
    ...{ viewport: { width, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce' },
  })
  open.push(() => context.close())
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const [asked, troubles]: [string[], string[]] = [[], []]
  page.on('request', (request) => asked.push(request.url()))
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
  await page.goto(`${origin}/_tollgate/${hash}`)
  await page.getByText('live', { exact: true }).waitFor()
  return { limiter, origin, page, asked, troubles }
}

/** Who is busy, who is refused, and who is near. */
async function crowd(limiter: Limiter): Promise<void> {
  for (let i = 0; i < 130; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
  for (let i = 0; i < 40; i += 1) (await limiter.consume({ id: 'globex', plan: 'pro' })).release()
}

async function rulesOf(limiter: Limiter): Promise<readonly Pick<Rule, 'kind' | 'of' | 'by' | 'reason'>[]> {
  const rules: Pick<Rule, 'kind' | 'of' | 'by' | 'reason'>[] = []
  for await (const { kind, of, by, reason } of limiter.rules())
    rules.push({ kind, of, ...(by && { by }), ...(reason && { reason }) })
  return rules
}

/** @param rules which of axe's; default: all */
async function violationsOf(page: Page, rules?: string[]): Promise<readonly string[]> {
  // Its script is no part of the page, so it comes past the policy.
  await page.evaluate((await import('axe-core')).source)
  const { violations } = await page.evaluate(
    (only) => (globalThis as unknown as { readonly axe: typeof Axe }).axe.run(only ? { runOnly: only } : {}),
    rules,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

const panel = (page: Page, title: string): Locator =>
  page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) })

test('the overview shows who is busy, refused and near, as it happens, and asks nobody else', async () => {
  const { page, limiter, origin, asked, troubles } = await show({ before: crowd })
  await panel(page, 'Busiest').getByRole('link', { name: 'acme' }).waitFor()
  expect(await panel(page, 'Busiest').getByRole('row').nth(1).innerText()).toMatch(/acme\s+free\s+130\s+23%/)
  expect(await panel(page, 'Nearest to a limit').getByRole('row').nth(1).innerText()).toMatch(
    /100 of 100\s+100%/,
  )
  expect(await panel(page, 'Refused most').getByRole('row').nth(1).innerText()).toMatch(/acme\s+free\s+30/)
  for (let i = 0; i < 60; i += 1) await limiter.consume({ id: 'initech', plan: 'pro' })
  await panel(page, 'Busiest').getByRole('link', { name: 'initech' }).waitFor()
  expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([origin]))
  expect(troubles).toEqual([])
})

test('nobody has asked for anything yet: the page says what to do', async () => {
  const { page, troubles } = await show()
  await page.getByRole('heading', { name: 'No requests yet' }).waitFor()
  expect(troubles).toEqual([])
})

test('a customer is found by the keyboard, and its limits are shown as they fill', async () => {
  const { page, limiter, troubles } = await show({ before: crowd })
  await panel(page, 'Busiest').getByRole('link', { name: 'globex' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('glob')
  await page.getByRole('option', { name: /globex/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'globex', level: 1 }).waitFor()
  const limits = panel(page, 'Limits')
  await limits.getByText('40 of 1,000 used').waitFor()
  for (let i = 0; i < 10; i += 1) (await limiter.consume({ id: 'globex', plan: 'pro' })).release()
  await limits.getByText('50 of 1,000 used').waitFor()
  expect(await limits.innerText()).toMatch(/month[\s\S]*50 of 50,000 used[\s\S]*0 of 20 in flight/)
  expect(troubles).toEqual([])
})

test('blocks, says first what that means, and lifts again; the name is that of authorize', async () => {
  const { page, limiter, troubles } = await show({ before: crowd, hash: '#/customer?id=acme&plan=free' })
  await panel(page, 'Refusals')
    .getByText(/Refused at .* by the limit hour: 100 of 100 used/)
    .waitFor()
  await page.getByRole('button', { name: 'Block', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Block acme' })
  await dialog.getByLabel(/Reason/).fill('abuse')
  expect(await dialog.locator('.means').innerText()).toMatch(/refused until/)
  await dialog.getByRole('button', { name: 'Block acme for 1 hour' }).click()
  await page.getByText(/acme is blocked until [^U]*\d\d:\d\d\./).waitFor()
  await page
    .getByText(/Reason.*abuse|abuse/)
    .first()
    .waitFor()
  expect(await rulesOf(limiter)).toEqual([{ kind: 'block', of: 'acme', by: 'ada', reason: 'abuse' }])
  expect((await limiter.consume({ id: 'acme', plan: 'free' })).reason).toBe('blocked')
  await panel(page, 'Rules that hold for it').getByRole('button', { name: /Lift/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: /Lift/ }).click()
  await page.getByText('No rule holds for it.').waitFor()
  expect(await rulesOf(limiter)).toEqual([])
  expect(troubles).toEqual([])
})

test('overrides, tops up and scales, and the preview is what comes of it', async () => {
  const { page, limiter, origin, troubles } = await show({
    before: crowd,
    hash: '#/customer?id=globex&plan=pro',
  })
  await page.getByRole('button', { name: 'Override', exact: true }).click()
  const override = page.getByRole('dialog', { name: 'Override globex' })
  expect(await override.locator('.means').innerText()).toMatch(/1,000 per hour become 2,000/)
  await override.getByRole('button', { name: /^Override globex for/ }).click()
  await panel(page, 'Limits').getByText('40 of 2,000 used').waitFor()
  await page.getByRole('button', { name: 'Top up', exact: true }).click()
  const topUp = page.getByRole('dialog', { name: /Top up/ })
  await topUp.getByLabel('Limit').selectOption('month')
  await topUp.getByLabel(/Units/).fill('500')
  await topUp.getByLabel('Order or invoice number').fill('order-17')
  await topUp.getByRole('button', { name: /500/ }).click()
  await panel(page, 'Limits').getByText('500 topped up').waitFor()
  await page.goto(`${origin}/_tollgate/#/plans`)
  await page.getByRole('button', { name: /Scale/ }).first().click()
  const scale = page.getByRole('dialog')
  await scale.getByLabel('Factor').fill('0.5')
  expect(await scale.locator('.means').innerText()).toMatch(/100 per hour becomes? 50/)
  await scale.getByRole('button', { name: /^Scale/ }).click()
  await page.getByText(/The limits of the plan free are multiplied by 0.5/).waitFor()
  expect((await rulesOf(limiter)).map(({ kind, of }) => [kind, of])).toEqual([
    ['override', 'globex'],
    ['scale', 'free'],
  ])
  // Its units come back one by one.
  await page.goto(`${origin}/_tollgate/#/customer?id=acme&plan=free`)
  await panel(page, 'Actions').getByText('use Override').waitFor()
  expect(await page.getByRole('button', { name: 'Top up', exact: true }).isDisabled()).toBe(true)
  expect(troubles).toEqual([])
})

test('what an operator may not do is refused beside the form, and changes nothing', async () => {
  let mayBlock = true
  const mayDo = (action: DashboardAction): boolean => action === 'read' || (action === 'block' && mayBlock)
  const { page, limiter, troubles } = await show({ before: crowd, hash: '#/customer?id=acme', mayDo })
  const actions = panel(page, 'Actions').getByRole('button')
  await actions.filter({ hasText: 'Override' }).waitFor({ state: 'detached' })
  expect(await actions.allInnerTexts()).toEqual(['Block'])
  mayBlock = false
  await page.getByRole('button', { name: 'Block', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: /^Block acme/ }).click()
  await dialog.getByText('You may not change this.').waitFor()
  expect(await rulesOf(limiter)).toEqual([])
  expect(troubles).toEqual([expect.stringContaining('403')])
})

test('read-only: there is nothing to press, and a change is answered with 405', async () => {
  const { page, limiter } = await show({ readOnly: true, before: crowd, hash: '#/customer?id=acme' })
  await panel(page, 'Actions').getByText('You may look here, and change nothing.').waitFor()
  expect(await panel(page, 'Actions').getByRole('button').count()).toBe(0)
  const status = await page.evaluate(async () => {
    const headers = { 'X-Tollgate': '1', 'Content-Type': 'application/json' }
    const body = JSON.stringify({ kind: 'block', id: 'acme', for: '1h' })
    return (await fetch('api/changes', { method: 'POST', headers, body })).status
  })
  expect([status, await rulesOf(limiter)]).toEqual([405, []])
})

test('an id that nobody has used is told from a customer, and a burst is shown as large as it is', async () => {
  const { page, limiter, origin } = await show({ hash: '#/customer?id=acem' })
  await page.getByRole('heading', { name: 'Nothing is known of it' }).waitFor()
  limiter.setPlans({ free: '50/s burst 200' }, { defaultPlan: 'free' })
  await limiter.consume('acme', { cost: 100 })
  await page.goto(`${origin}/_tollgate/#/customer?id=acme`)
  await panel(page, 'Limits').getByText('burst of 200').waitFor()
  expect(await page.getByRole('heading', { name: 'Nothing is known of it' }).count()).toBe(0)
})

test('a page of another site changes nothing and reads nothing, and holds no frame of it', async () => {
  const { page, limiter, origin } = await show({ before: crowd })
  const other = createServer((_, res) => {
    res.setHeader('Content-Type', 'text/html')
    res.end(`<title>evil</title><iframe src="${origin}/_tollgate/"></iframe>`)
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    other.closeAllConnections()
    other.close()
  })
  await page.goto(`http://localhost:${(other.address() as AddressInfo).port}/`)
  const results = await page.evaluate(async (url) => {
    const body = JSON.stringify({ kind: 'block', id: 'acme', for: '1h' })
    const plain = { method: 'POST', body, mode: 'no-cors', credentials: 'include' } as const
    const json = { method: 'POST', body, headers: { 'X-Tollgate': '1', 'Content-Type': 'application/json' } }
    const outcomes: string[] = []
    for (const [path, init] of [
      ['api/changes', plain],
      ['api/changes', json],
      ['api/session', {}],
    ] as const)
      outcomes.push(
        await fetch(url + path, init).then(
          (answer) => answer.type,
          () => 'failed',
        ),
      )
    const form = document.createElement('form')
    Object.assign(form, {
      method: 'POST',
      action: `${url}api/changes`,
      enctype: 'text/plain',
      target: 'sink',
    })
    const field = document.createElement('input')
    Object.assign(field, { name: '{"kind":"block","id":"acme","for":"1h","reason":"', value: '"}' })
    form.append(field)
    document.body.append(Object.assign(document.createElement('iframe'), { name: 'sink' }), form)
    form.submit()
    return outcomes
  }, `${origin}/_tollgate/`)
  await page.frame('sink')?.waitForLoadState()
  expect(results).toEqual(['failed', 'failed', 'failed'])
  expect(await rulesOf(limiter)).toEqual([])
  expect(page.frames().map((frame) => frame.url())).not.toContain(`${origin}/_tollgate/`)
})

const HOSTILE = [
  '<img src=x onerror="document.title=1">',
  `</script><script>document.title='1'</script>`,
  'شركة الاختبار',
  '‮evil',
  '🦊'.repeat(60),
  'x'.repeat(200),
  "a' onmouseover='alert(1)",
  'javascript:alert(1)',
]

test.each([1280, 390])('hostile ids are text in every place, at a width of %d', async (width) => {
  const { page, origin, troubles } = await show({
    width,
    async before(limiter) {
      for (const id of HOSTILE) {
        for (let i = 0; i < 103; i += 1) await limiter.consume({ id, plan: 'free' })
        await limiter
          .override(id, { factor: 1, for: '1h', reason: id.slice(0, 100), by: 'ada' })
          .catch(() => {})
      }
    },
  })
  await panel(page, 'Busiest').getByRole('row').nth(HOSTILE.length).waitFor()
  for (const place of [
    '#/',
    '#/plans',
    '#/rules',
    ...HOSTILE.map((id) => `#/customer?id=${encodeURIComponent(id)}`),
  ]) {
    await page.goto(`${origin}/_tollgate/${place}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await page.title()).not.toBe('1')
    expect(await page.locator('img').count()).toBe(0)
  }
  expect(troubles).toEqual([])
})

test('while Redis is silent the page helps, keeps the last figures, and comes back by itself', async () => {
  const server: RedisServer = await startRedis()
  open.push(() => server.stop())
  const { page, limiter, troubles } = await show({ port: server.port, before: crowd })
  await panel(page, 'Busiest').getByRole('link', { name: 'acme' }).waitFor()
  server.pause()
  try {
    await limiter.consume({ id: 'acme', plan: 'free' })
    await page.getByRole('heading', { name: 'The store does not answer' }).waitFor()
    expect(await panel(page, 'Busiest').getByRole('link', { name: 'acme' }).count()).toBe(1)
  } finally {
    server.resume()
  }
  await page.getByRole('heading', { name: 'The store does not answer' }).waitFor({ state: 'detached' })
  expect(troubles).toEqual([])
})

test.each([1280, 390])(
  '%d wide: no fault of accessibility, light or dark, and nothing wider than the window',
  async (width) => {
    const { page, origin, troubles } = await show({ width, before: crowd })
    const check = async (place: string): Promise<void> => {
      expect([place, await violationsOf(page)]).toEqual([place, []])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      // Only colours depend on the scheme.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect([place, await violationsOf(page, ['color-contrast'])]).toEqual([place, []])
      await page.emulateMedia({ colorScheme: 'light' })
    }
    for (const place of ['#/', '#/plans', '#/rules', '#/customer?id=acme&plan=free']) {
      await page.goto(`${origin}/_tollgate/${place}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await check(place)
    }
    await page.getByRole('button', { name: 'Block', exact: true }).click()
    await check('the dialog')
    expect(troubles).toEqual([])
  },
)
