// Builds the page: dist/index.html, playground.js and playground.css, which ask no other host and know no absolute path. A
// classic script also runs in a page that was opened as a file.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { rolldown } from 'rolldown'

const require = createRequire(import.meta.url)
const FONTS = {
  '--text': '@fontsource-variable/schibsted-grotesk/files/schibsted-grotesk-latin-wght-normal.woff2',
  '--code': '@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2',
}

/** A font as a rule of the style sheet, so that it comes with that. */
function fontFace([name, file]) {
  const data = readFileSync(require.resolve(file)).toString('base64')
  const family = name.slice('--'.length)
  return `@font-face{font-family:"${family}";font-weight:400 900;font-display:swap;src:url(data:font/woff2;base64,${data})}\n`
}

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
copyFileSync('src/index.html', 'dist/index.html')
writeFileSync(
  'dist/playground.css',
  Object.entries(FONTS).map(fontFace).join('') + readFileSync('src/style.css', 'utf8'),
)
const bundled = await rolldown({
  input: { playground: 'src/page.ts' },
  platform: 'browser',
  onLog: (_, { message }) => {
    throw new Error(message)
  },
})
await bundled.write({ format: 'iife', dir: 'dist', minify: true, comments: false })
await bundled.close()
