import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of the site's fonts, for pictures: they cannot use those of the page. */
export interface Fonts {
  readonly text: string
  readonly code: string
}

/** The colours of pictures on GitHub, and those of the site in their place. The keys are names in packages/benchmarks/src/draw.mjs. */
const COLOURS: readonly (readonly [name: string, onGitHub: string, here: string])[] = [
  ['card', '#ffffff', '#ffffff'],
  ['edge', '#d0d7de', '#cfd9d4'],
  ['ink', '#1f2328', '#14201d'],
  ['soft', '#59636e', '#44534d'],
  ['fill', '#f6f8fa', '#f5f8f6'],
  ['card', '#0d1117', '#0e1413'],
  ['edge', '#3d444d', '#34433e'],
  ['ink', '#f0f6fc', '#e4ece8'],
  ['soft', '#a3abb5', '#aebdb6'],
  ['fill', '#161c24', '#18211f'],
]
const IS_OURS = '--card: #ffffff;'
const CODE = 'class="code'

/** Gives all pictures below a folder the colours and fonts of the site. */
export function dressPictures(folder: string, fonts: Fonts): void {
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    if (!name.endsWith('.svg')) continue
    const file = join(folder, name)
    const svg = readFileSync(file, 'utf8')
    if (svg.includes(IS_OURS)) writeFileSync(file, dressed(svg, fonts))
  }
}

/** A picture of packages/benchmarks with the colours and fonts of the site. @throws {Error} when it has other colours than expected */
export function dressed(svg: string, fonts: Fonts): string {
  const coloured = COLOURS.reduce((text, [name, from, to]) => {
    return replaced(text, `--${name}: ${from};`, `--${name}: ${to};`)
  }, svg)
  const withText = replaced(coloured, '17px system-ui,', "17px 'page text', system-ui,")
  const withCode = replaced(withText, 'font-family: ui-monospace,', "font-family: 'page code', ui-monospace,")
  const faces = [
    fontFace('page text', fonts.text),
    svg.includes(CODE) ? fontFace('page code', fonts.code) : '',
  ]
  return replaced(withCode, '<style>', `<style>${faces.join('')}`)
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`a picture has no ${from}`)
  return text.replace(from, to)
}

function fontFace(family: string, file: string): string {
  const data = readFileSync(file).toString('base64')
  return `@font-face{font-family:'${family}';font-weight:100 900;src:url(data:font/woff2;base64,${data})}`
}
