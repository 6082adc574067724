// The server that shows the built site, over real HTTP.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const scratch = mkdtempSync(join(tmpdir(), 'tollgate-site-'))
const folder = join(scratch, 'site')
let server: ChildProcess
let port: number

beforeAll(async () => {
  mkdirSync(join(folder, 'b'), { recursive: true })
  for (const name of ['index.html', 'a.html', '404.html', 'b/index.html', 'b/c.svg'])
    writeFileSync(join(folder, name), `<p>${name}</p>`)
  writeFileSync(join(scratch, 'secret.txt'), 'secret')
  const url = pathToFileURL(resolve(__dirname, '../src/serve.mjs')).href
  const program = `import { serve } from ${JSON.stringify(url)}; serve(${JSON.stringify(folder)}, 0)`
  server = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed] = (await once(server.stdout!, 'data')) as [Buffer]
  port = Number(/:(\d+)\/\n/.exec(String(printed))?.[1])
})

afterAll(async () => {
  if (server.exitCode === null && server.kill()) await once(server, 'exit')
  rmSync(scratch, { recursive: true })
})

interface Answer {
  readonly status: number | undefined
  readonly type: string | undefined
  readonly allow: string | undefined
  readonly body: string
}

/** Asks for a path as it is: fetch would tidy it. */
async function ask(path: string, method = 'GET'): Promise<Answer> {
  return new Promise((answered, failed) => {
    const sent = request({ host: '127.0.0.1', port, path, method, agent: false }, (res) => {
      const { 'content-type': type, allow } = res.headers
      text(res).then((body) => answered({ status: res.statusCode, type, allow, body }), failed)
    })
    sent.once('error', failed).end()
  })
}

test.each([
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/a', 'a.html', 'text/html; charset=utf-8'],
  ['/a?q=%', 'a.html', 'text/html; charset=utf-8'],
  ['/b', 'b/index.html', 'text/html; charset=utf-8'],
  ['/b/', 'b/index.html', 'text/html; charset=utf-8'],
  ['/b/c.svg', 'b/c.svg', 'image/svg+xml'],
])('%s is %s', async (path, name, type) => {
  expect(await ask(path)).toMatchObject({ status: 200, body: `<p>${name}</p>`, type })
})

test.each([
  ['/%', 400],
  ['/%ff', 400],
  ['//', 400],
  ['/%00', 404],
  ['/gone', 404],
  ['/a.html/x', 404],
  ['/..%2fsecret.txt', 404],
  ['/%2e%2e/secret.txt', 404],
])('%s is answered, and the server goes on', async (path, status) => {
  expect((await ask(path)).status).toBe(status)
  expect((await ask('/a')).status).toBe(200)
})

test('an address longer than a file name may be is not found', async () => {
  expect((await ask(`/${'x'.repeat(5000)}`)).status).toBe(404)
})

test('only GET and HEAD are answered', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
    expect(await ask('/a', method)).toMatchObject({ status: 405, allow: 'GET, HEAD' })
  expect(await ask('/a', 'HEAD')).toMatchObject({ status: 200, body: '' })
})

test('a page that is gone after the build is not found, even the one for what is not found', async () => {
  expect((await ask('/gone')).body).toBe('<p>404.html</p>')
  rmSync(join(folder, 'a.html'))
  rmSync(join(folder, '404.html'))
  expect((await ask('/a')).status).toBe(404)
  expect((await ask('/b')).status).toBe(200)
})
