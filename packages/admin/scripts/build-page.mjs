// Builds the page into src/page.generated.cjs: one document that asks for nothing else, and the hashes that its policy needs.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const MOST_BYTES = 120_000

const packageFolder = join(import.meta.dirname, '..')
const page = join(packageFolder, 'page')
const require = createRequire(import.meta.url)
const FONT = '@fontsource-variable/schibsted-grotesk/files/schibsted-grotesk-latin-wght-normal.woff2'

function fontFace(name, file, extra = '') {
  const data = readFileSync(file).toString('base64')
  const source = `url(data:font/woff2;base64,${data})format("woff2")`
  return `@font-face{font-family:"${name}";font-weight:400 900;font-display:swap;${extra}src:${source}}`
}

/**
 * The font's tabular figures come with marks as wide as a figure: `1 , 200`. So marks come from a cut of it without them, made by `pyftsubset
 * schibsted-grotesk-latin-wght-normal.woff2 --unicodes=25,2C,2E,3A,3B --layout-features= --flavor=woff2 --no-hinting`.
 */
function fontFaces() {
  const marks = fontFace('marks', join(page, 'marks.woff2'), 'unicode-range:U+25,U+2C,U+2E,U+3A-3B;')
  return fontFace('text', require.resolve(FONT)) + marks
}

function shorten(css) {
  return css
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>]) ?/g, '$1')
    .replace(/: /g, ':')
    .replaceAll(';}', '}')
    .trim()
}

function styleText() {
  const folder = join(page, 'style')
  const own = readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  const ofCharts = readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8')
  return fontFaces() + shorten([ofCharts, ...own].join('\n'))
}

async function scriptText() {
  const bundled = await rolldown({
    input: { page: join(page, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(page, 'tsconfig.json'),
    onLog: (_, { message }) => {
      throw new Error(message)
    },
  })
  const { output } = await bundled.generate({ format: 'iife', minify: true, comments: false })
  await bundled.close()
  // Nothing in the script may look like its end.
  return output[0].code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
}

function hashOf(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

const style = styleText()
const script = await scriptText()
const html = readFileSync(join(page, 'page.html'), 'utf8')
  .replace(/\s*\n\s*/g, ' ')
  .replace('<style></style>', () => `<style>${style}</style>`)
  .replace('<script></script>', () => `<script>${script}</script>`)

const bytes = gzipSync(html, { level: 9 }).length
console.log(`The page is ${html.length} characters, ${bytes} bytes gzipped.`)
if (bytes > MOST_BYTES) throw new Error(`The page is larger than ${MOST_BYTES} bytes gzipped`)

// CommonJS, so that both formats of the package can load the same file, and npm downloads the page once.
const note = '// Made by scripts/build-page.mjs from page/. Do not edit.'
const values = { PAGE: html, SCRIPT_HASHES: [hashOf(script)], STYLE_HASHES: [hashOf(style)] }
const code = Object.entries(values).map(([name, value]) => `exports.${name} = ${JSON.stringify(value)}`)
const types = [
  'export declare const PAGE: string',
  'export declare const SCRIPT_HASHES: readonly string[]',
  'export declare const STYLE_HASHES: readonly string[]',
]
writeFileSync(join(packageFolder, 'src/page.generated.cjs'), [note, ...code, ''].join('\n'))
writeFileSync(join(packageFolder, 'src/page.generated.d.cts'), [note, ...types, ''].join('\n'))
