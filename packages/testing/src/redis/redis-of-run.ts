import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startRedis, type RedisServer } from './server.ts'

/** Names a file. Each end of the Redis of the run is written to it: a line of JSON with `from`, `to` (ms since 1970) and `how`. */
export const REDIS_ENDS_VARIABLE = 'TOLLGATE_REDIS_ENDS'

/** So much of the log says why a server crashed. */
const LOG_LINES = 80
/** One that ends more often will not get better. */
const MOST_ENDS = 5

/**
 * Starts the Redis that all test files of a run share. If it ends before `stop`, it says so on standard error with the end
 * of its log, and starts again on its port, empty: the tests that come later would wait for it in vain.
 */
export async function startRedisOfRun(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-run-'))
  const logfile = join(folder, 'redis.log')
  const port = await freePort()
  let isStopped = false
  let ends = 0
  let running: Promise<RedisServer> = start()
  const { url } = await running
  return {
    url,
    async stop() {
      isStopped = true
      await (await running).stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }

  function start(): Promise<RedisServer> {
    return startRedis({ port, args: ['--logfile', logfile], onExit })
  }

  function onExit(how: string): void {
    ends += 1
    if (isStopped || ends > MOST_ENDS) return
    const from = Date.now()
    const log = readFileSync(logfile, 'utf8').split('\n').slice(-LOG_LINES).join('\n')
    process.stderr.write(
      `The Redis of the run ended by ${how}, and starts again. The end of its log:\n${log}\n`,
    )
    running = start()
    const note = (): void => noteEnd({ from, to: Date.now(), how })
    running.then(note, note)
  }
}

function noteEnd(end: { from: number; to: number; how: string }): void {
  const file = process.env[REDIS_ENDS_VARIABLE]
  if (file) appendFileSync(file, `${JSON.stringify(end)}\n`)
}
