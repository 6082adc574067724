// The pictures and charts of the docs, in a real Chromium: their texts have room on phones and on desktops.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findChromium } from '@tollgate/testing/browser'
import { chromium, type Browser } from 'playwright-core'

const docs = resolve(__dirname, '../../../docs')
const drawings = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.svg'),
)

/** How wide a picture is on a phone of 375 pixels, and on a desktop of 1280. */
const WIDTHS = [327, 628]

let browser: Browser
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
})
afterAll(() => browser?.close())

/** Texts that leave the card, and pairs of texts that cross. */
async function clashesIn(svg: string, width: number): Promise<string[]> {
  const page = await browser.newPage({ viewport: { width, height: 800 } })
  try {
    await page.setContent(
      `<body style="margin: 0">${svg.replace(/ width="\d+" height="\d+"/, ' width="100%"')}</body>`,
    )
    return await page.evaluate(() => {
      const card = document.querySelector('svg')?.getBoundingClientRect() ?? new DOMRect()
      const scale = card.width / 640
      const texts = [...document.querySelectorAll('text')].map((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect()
        // Letters leave some of the line's height free.
        const free = (bottom - top) * 0.15
        return { name: element.textContent, left, right, top: top + free, bottom: bottom - free }
      })
      const outside = texts.filter(
        ({ left, right, top, bottom }) =>
          left < card.left + 8 * scale ||
          right > card.right - 8 * scale ||
          top < card.top ||
          bottom > card.bottom,
      )
      const crossing = texts.flatMap((one, i) =>
        texts
          .slice(i + 1)
          .filter(
            (other) =>
              one.left < other.right &&
              other.left < one.right &&
              one.top < other.bottom &&
              other.top < one.bottom,
          )
          .map((other) => `${one.name} crosses ${other.name}`),
      )
      return [...outside.map(({ name }) => `${name} leaves the card`), ...crossing]
    })
  } finally {
    await page.close()
  }
}

test.each(drawings)('the texts of %s have room on a phone and on a desktop', async (name) => {
  const svg = readFileSync(join(docs, name), 'utf8')
  for (const width of WIDTHS)
    expect({ width, clashes: await clashesIn(svg, width) }).toEqual({ width, clashes: [] })
})

test('the check sees texts that cross, and one that leaves the card', async () => {
  const text = (x: number, y: number, content: string): string => `<text x="${x}" y="${y}">${content}</text>`
  const texts = [text(24, 40, 'one'), text(30, 45, 'two'), text(24, 80, 'three'), text(620, 80, 'four')]
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 100" width="640" height="100">${texts.join('')}</svg>`
  expect(await clashesIn(svg, 628)).toEqual(['four leaves the card', 'one crosses two'])
})
