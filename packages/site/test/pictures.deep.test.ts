// The pictures and charts of the docs, in a real Chromium: their texts have room on phones and on desktops.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findChromium } from '@tollgate/testing/browser'
import { chromium, type Browser } from 'playwright-core'
import { dressed } from '../src/pictures.ts'

const docs = resolve(__dirname, '../../../docs')
const drawings = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.svg'),
)

/** How wide a picture is on a phone of 375 pixels, and on a desktop. */
const WIDTHS = [327, 640]

const font = (name: string): string =>
  resolve(__dirname, `../node_modules/@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`)
const FONTS = { text: font('schibsted-grotesk'), code: font('jetbrains-mono') }

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
  for (const one of [svg, dressed(svg, FONTS)])
    for (const width of WIDTHS)
      expect({ width, clashes: await clashesIn(one, width) }).toEqual({ width, clashes: [] })
})

test('on the site they have its colours and fonts, and another picture is refused', () => {
  const svg = dressed(readFileSync(join(docs, 'pictures/seam.svg'), 'utf8'), FONTS)
  expect(svg).toMatch(/--card: #0e1413;[\s\S]*17px 'page text', system-ui/)
  expect(svg).not.toMatch(/#0d1117|#d0d7de/)
  expect(() => dressed('<svg/>', FONTS)).toThrow('a picture has no --card: #ffffff;')
})

test('the check sees texts that cross, and one that leaves the card', async () => {
  const text = (x: number, y: number, content: string): string => `<text x="${x}" y="${y}">${content}</text>`
  const texts = [text(24, 40, 'one'), text(30, 45, 'two'), text(24, 80, 'three'), text(620, 80, 'four')]
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 100" width="640" height="100">${texts.join('')}</svg>`
  expect(await clashesIn(svg, 628)).toEqual(['four leaves the card', 'one crosses two'])
})
