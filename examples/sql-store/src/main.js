// Tries the example. The order matters: the kit says which port is the example's.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, play, statuses } from '@tollgate/example-kit'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-sql-store-'))
process.env.DATABASE = join(folder, 'counts.db')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const app = await import('./app.js')

/** The same program once more, on the same file. */
async function startAnother() {
  const program = fileURLToPath(new URL('app.js', import.meta.url))
  const child = spawn(process.execPath, [program], { env: { ...process.env, PORT: '0' } })
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

  check('acme is on free: 5 a minute', await statuses(7, () => as('acme')), { 200: 5, 429: 2 })
  check('globex is on pro: three limits in one row', await remaining(await as('globex')), [99, 99999, 19])

  const another = await startAnother()
  check('another process knows what acme has used', (await as('acme', another.url)).status, 429)
  const turns = [url, another.url]
  const both = await statuses(8, (i) => as('initech', turns[i % 2]))
  check('the two count initech together', both, { 200: 5, 429: 3 })
  await another.stop()
  check('made-up keys count by their address', await statuses(7, (i) => as(`nobody-${i}`)), {
    200: 5,
    429: 2,
  })
  const [, month] = await remaining(await as('globex'))
  check('and what globex used before still counts', month, 99998)
}

const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'     # the sixth of a minute is denied`,
  `curl -i ${url}/ -H 'x-api-key: key-of-globex'`,
]

await play(app, { drive, hint })
