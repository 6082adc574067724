// A client that checks what the examples answer. They are started by importing them, after this module.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'

export const isOnce = process.argv.includes('--once')

// A run that checks must find nothing used, and a busy machine must not look like a fault of Redis.
if (isOnce) {
  Object.assign(process.env, { PORT: '0', REDIS_PREFIX: `example:${randomUUID()}`, DEADLINE_MS: '5000' })
}

/** What was seen that should not have been. */
const faults = []

/** Prints what happened, beside what should have. */
export function check(what, got, expected) {
  const [is, should] = [JSON.stringify(got), JSON.stringify(expected)]
  process.stdout.write(
    `${is === should ? 'ok   ' : 'WRONG'} ${what}: ${is}${is === should ? '' : `, not ${should}`}\n`,
  )
  if (is !== should) faults.push(what)
}

/** Asks until it is so, for what happens after an answer; resolves with the last value. */
export async function eventually(ask, expected) {
  let value = await ask()
  for (let i = 0; i < 500 && value !== expected; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    value = await ask()
  }
  return value
}

/** How often each status was answered, such as { 200: 5, 429: 2 }. */
export async function statuses(count, ask) {
  const seen = {}
  for (let i = 0; i < count; i += 1) {
    const { status } = await ask(i)
    seen[status] = (seen[status] ?? 0) + 1
  }
  return seen
}

/** The address of a server, once it listens. */
export async function urlOf(server) {
  if (!server.listening) await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

/**
 * Tries an example: with --once it is asked what it should answer, is closed, and the exit code says whether all was
 * right; else it stays up, until a signal that the example itself hears.
 *
 * @param app   what the example exports: `{ server, limiter, close }`
 * @param drive asks the example what a user would, and checks
 * @param hint  lines to try, made of its address, printed where it stays up
 */
export async function play({ server, limiter, close }, { drive, hint }) {
  const url = await urlOf(server)
  if (!isOnce) {
    const lines = hint(url).map((line) => `  ${line}\n`)
    process.stdout.write(`Try:\n${lines.join('')}`)
    return
  }
  await drive(url)
  // Without its store it would answer by the failure policy, which shows something else.
  check('the store decided all of it', limiter.stats().storeErrors, 0)
  await close()
  process.stdout.write(
    faults.length === 0 ? 'All as it should be.\n' : `${faults.length} things were wrong.\n`,
  )
  process.exitCode = faults.length === 0 ? 0 : 1
}
