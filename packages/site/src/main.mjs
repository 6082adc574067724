// Builds the docs site; with --serve also shows it, on this machine alone. --out names another folder than dist.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'

const here = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { serve: { type: 'boolean' }, out: { type: 'string' }, port: { type: 'string', default: '0' } },
})
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
}

const folder = resolve(values.out ?? join(here, 'dist'))

// The pages are named as in the repository.
process.chdir(join(here, '../..'))
try {
  await build(here, { outDir: folder })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
if (values.serve) serve(folder, Number(values.port))

function serve(site, port) {
  const server = createServer((req, res) => {
    const file = fileFor(site, req.url ?? '/')
    const shown = file ?? join(site, '404.html')
    res.writeHead(file ? 200 : 404, { 'content-type': TYPES[extname(shown)] ?? 'application/octet-stream' })
    createReadStream(shown).pipe(res)
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`The site is at http://127.0.0.1:${server.address().port}/\n`)
  })
}

/** The file at an address. Pages have addresses without `.html`, as on GitHub Pages. */
function fileFor(site, url) {
  const path = join(site, normalize(decodeURIComponent(new URL(url, 'http://site.invalid').pathname)))
  const candidates = [path, `${path}.html`, join(path, 'index.html')]
  return candidates.find((file) => existsSync(file) && statSync(file).isFile())
}
