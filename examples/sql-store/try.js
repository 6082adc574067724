// Runs the example; with --once it also asks it and checks the answers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AS_THIS_RUN, check, play, statuses } from '../example-kit/src/index.js'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-sql-store-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** The same program once more, on the same file. */
async function startAnother() {
  const program = fileURLToPath(new URL('src/app.js', import.meta.url))
  const child = spawn(process.execPath, [AS_THIS_RUN, program], { env: { ...process.env, PORT: '0' } })
  child.stderr.pipe(process.stderr)
  const [said] = await once(child.stdout, 'data')
  const stop = async () => {
    child.kill('SIGTERM')
    await once(child, 'close')
  }
  return { url: /http:\S+/.exec(String(said))[0], stop }
}

async function drive(url) {
  const as = (tenant, at = url) => fetch(at, { headers: { 'x-api-key': `key-of-${tenant}` } })
  const remaining = async (response) => (await response.json()).limits.map((limit) => limit.remaining)

  check('7 requests of acme, on a plan of 5 a minute', await statuses(7, () => as('acme')), {
    200: 5,
    429: 2,
  })
  check('left of the three limits of globex', await remaining(await as('globex')), [99, 99999, 19])

  const another = await startAnother()
  check('acme asks another process on the same file', (await as('acme', another.url)).status, 429)
  const turns = [url, another.url]
  const both = await statuses(8, (i) => as('initech', turns[i % 2]))
  check('8 requests of initech, to both processes in turn', both, { 200: 5, 429: 3 })
  await another.stop()
  check(
    '7 requests with unknown keys, which count by their address',
    await statuses(7, (i) => as(`nobody-${i}`)),
    {
      200: 5,
      429: 2,
    },
  )
  const [, month] = await remaining(await as('globex'))
  check('left of the month of globex', month, 99998)
}

const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'     # the sixth of a minute is denied`,
  `curl -i ${url}/ -H 'x-api-key: key-of-globex'`,
]

const env = { DATABASE: join(folder, 'counts.db') }
await play(new URL('src/app.js', import.meta.url).href, { drive, hint, env })
