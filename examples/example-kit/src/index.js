// Starts an example, and with --once asks it what a user would and checks the answers. The examples know nothing of it.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { limiters } from './patient.js'

const isOnce = process.argv.includes('--once')

/** What was not as expected. */
const faults = []

/** Prints what was asked and answered, and what should have been if that differs. */
export function check(what, got, expected) {
  const [is, should] = [JSON.stringify(got), JSON.stringify(expected)]
  const isRight = is === should
  process.stdout.write(
    `${isRight ? 'ok   ' : 'WRONG'} ${what}: ${is}${isRight ? '' : `, expected ${should}`}\n`,
  )
  if (!isRight) faults.push(what)
}

/** Asks until the answer is the expected one, for what happens after a response. Resolves to the last answer. */
export async function eventually(ask, expected) {
  let value = await ask()
  for (let i = 0; i < 500 && value !== expected; i += 1) {
    await sleep(20)
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

/** Node's argument that makes a process of its own count as this run does. */
export const AS_THIS_RUN = `--import=${new URL('register.js', import.meta.url)}`

/**
 * Runs an example in this process. With --once it is asked, checked and stopped, and the exit code says whether all was
 * right. Otherwise it stays up until a signal.
 *
 * @param program the URL of its program
 * @param options `drive(url, limiters)` asks and checks; `hint(url)` gives lines to try; `limiter` replaces options of its
 *                limiters, and `env` sets environment variables, with --once
 */
export async function play(program, { drive, hint, limiter = {}, env = {} }) {
  if (!isOnce) {
    await import(program)
    const url = `http://127.0.0.1:${process.env.PORT ?? 3000}`
    process.stdout.write(
      `Try:\n${hint(url)
        .map((line) => `  ${line}\n`)
        .join('')}`,
    )
    return
  }
  const port = await freePort()
  Object.assign(process.env, env, { PORT: String(port), EXAMPLE_RUN: randomUUID() })
  process.env.EXAMPLE_OPTIONS = JSON.stringify({ deadlineMs: 5000, ...limiter })
  await import('./register.js')
  await import(program)
  await listens(port)
  await drive(`http://127.0.0.1:${port}`, limiters)
  const errors = limiters.map((one) => one.stats().storeErrors)
  check(
    'the store decided every request: its errors',
    errors,
    limiters.map(() => 0),
  )
  process.emit('SIGTERM')
  const isClosed = () => limiters.every((one) => one.health().status === 'closed')
  check('SIGTERM stops the example: its limiters are closed', await eventually(isClosed, true), true)
  process.stdout.write(faults.length === 0 ? 'All as expected.\n' : `${faults.length} answers were wrong.\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until a port accepts connections. Sends no request, since it would be counted. */
async function listens(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await sleep(20)
  }
}
