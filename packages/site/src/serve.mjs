// Shows a built site, on this machine alone.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

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
const PLAIN = TYPES['.txt']

/** Serves the folder, and prints the address. Port 0 is a free port. */
export function serve(site, port) {
  const server = createServer((req, res) => {
    const { status, headers, body } = answerTo(site, req)
    // Node leaves out the body for HEAD.
    res.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body)
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`The site is at http://127.0.0.1:${server.address().port}/\n`)
  })
}

function answerTo(site, { method, url }) {
  if (method !== 'GET' && method !== 'HEAD') {
    return {
      status: 405,
      headers: { 'content-type': PLAIN, allow: 'GET, HEAD' },
      body: 'Only GET and HEAD\n',
    }
  }
  const path = pathOf(url)
  if (path === undefined) {
    return { status: 400, headers: { 'content-type': PLAIN }, body: 'Not a valid address\n' }
  }
  // Pages have addresses without `.html`, as on GitHub Pages.
  for (const name of [path, `${path}.html`, join(path, 'index.html')]) {
    const body = contentOf(join(site, name))
    if (body !== undefined) return { status: 200, headers: { 'content-type': typeOf(name) }, body }
  }
  const body = contentOf(join(site, '404.html')) ?? 'No such page\n'
  return { status: 404, headers: { 'content-type': TYPES['.html'] }, body }
}

/** The path of an address within the site; undefined if it is malformed. */
function pathOf(url) {
  try {
    return normalize(decodeURIComponent(new URL(url, 'http://site.invalid').pathname))
  } catch {
    return undefined
  }
}

function typeOf(name) {
  return TYPES[extname(name)] ?? 'application/octet-stream'
}

/** The bytes of a file; undefined if there is none. It is read at once: a build may remove it at any time. */
function contentOf(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}
