// What the examples share: a store, an address, and a client that checks what it is told.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'

export const isOnce = process.argv.includes('--once')

/** How long a limiter waits for its store: with --once so long that a busy machine does not look like a fault. */
export const deadlineMs = isOnce ? 5000 : 100

/** Redis where REDIS_URL says so, else this process's memory; and how to let go of it. */
export function makeStore() {
  if (!process.env.REDIS_URL) return { store: memoryStore(), close: () => {} }
  const redis = new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: false })
  // An app goes on without Redis, and its limiter tells; a run that checks plans cannot.
  redis.on('error', (error) => isOnce && giveUp(`Redis: ${error.message || error.code}`))
  // A run that checks must find nothing used; instances that stay up share their counts.
  const prefix = isOnce ? `example:${randomUUID()}` : 'example'
  return { store: redisStore(redis, { prefix }), close: () => redis.disconnect() }
}

function giveUp(why) {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

/** The port that was asked for; with --once a free one. */
export const port = isOnce ? 0 : Number(process.env.PORT ?? 3000)

/** Listens on 127.0.0.1 and resolves with the address. */
export async function listen(server) {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
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

/**
 * Runs an example: with --once it drives itself, lets go of everything and says by its exit code whether all was
 * right; else it stays up.
 *
 * @param drive asks the example what a user would, and checks
 * @param hint  lines to try, printed where it stays up
 */
export async function play({ url, drive, close, hint }) {
  if (!isOnce) {
    process.stdout.write(`It listens on ${url}. Try:\n${hint.map((line) => `  ${line}\n`).join('')}`)
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
    return
  }
  await drive(url)
  await close()
  process.stdout.write(
    faults.length === 0 ? 'All as it should be.\n' : `${faults.length} things were wrong.\n`,
  )
  process.exitCode = faults.length === 0 ? 0 : 1
}
