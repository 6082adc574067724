import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { tieLifeOf } from './life-line.ts'

/** A real server that a test has started. */
export interface ServerProcess {
  readonly port: number
  readonly pid: number
  /** Stops it like an operator. */
  stop(): Promise<void>
  /** Kills it at once, like a crash (SIGKILL). */
  kill(): Promise<void>
  /** Makes the server hang (SIGSTOP) until `resume`. */
  pause(): void
  resume(): void
}

/** What is asked of a server that has just been started, and what its answer begins with. */
export interface Greeting {
  readonly asks: string
  readonly hears: string
}

/** A slow machine needs seconds. */
const STARTED_WITHIN_MS = 30_000

/** @param onExit called when the server has ended, with the signal or the exit code that ended it, such as `SIGKILL` or `code 1` */
export async function startServer(
  binary: string,
  {
    args,
    port,
    onExit = () => {},
  }: { args: readonly string[]; port: number; onExit?: (how: string) => void },
  greeting: Greeting,
): Promise<ServerProcess> {
  const child = spawn(binary, args, { stdio: 'ignore' })
  // Tests that forget to stop it must not keep jest running.
  child.unref()
  const cutLifeLine = tieLifeOf(child.pid as number)
  const exited = once(child, 'exit').then(() => {
    cutLifeLine()
    onExit(child.signalCode ?? `code ${child.exitCode}`)
  })
  await Promise.race([
    answers(port, child, greeting),
    exited.then(() => Promise.reject(new Error(`${binary} did not start`))),
  ])
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    // A paused process would not see SIGTERM.
    child.kill('SIGCONT')
    child.ref()
    await exited
  }
  return {
    port,
    pid: child.pid as number,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

/**
 * Where ports are looked for: below those that systems give to outgoing connections, one of which could take a free port before
 * the server does. Nodes of a cluster use a second port, 10 000 above.
 */
const [FIRST_PORT, PORTS] = [10_000, 10_000]

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + randomInt(PORTS)
    if (await isFree(port)) return port
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

async function answers(port: number, server: ChildProcess, greeting: Greeting): Promise<void> {
  for (const until = Date.now() + STARTED_WITHIN_MS; Date.now() < until; await sleep(20)) {
    if (server.exitCode !== null || (await isAnswering(port, greeting))) return
  }
  throw new Error(`the server on port ${port} did not answer within ${STARTED_WITHIN_MS} ms`)
}

/** Whether what listens on a port of 127.0.0.1 answers within 2 s. */
export function isAnswering(port: number, { asks, hears }: Greeting): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => socket.write(asks))
    const settle = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (data) => settle(data.toString().startsWith(hears)))
    socket.once('error', () => settle(false))
    socket.setTimeout(2000, () => settle(false))
  })
}
