import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isAnsweringRedis, startRedis, type RedisServer } from './server.ts'

/** Names a file. Each end of the Redis of the run is written to it: a line of JSON with `from`, `to` (ms since 1970) and `how`. */
export const REDIS_ENDS_VARIABLE = 'TOLLGATE_REDIS_ENDS'

/** So much of the log says why a server crashed: where its report begins, and its end. */
const [REPORT_LINES, LOG_LINES] = [30, 80]
/** One that ends more often will not get better. */
const MOST_ENDS = 5

/** How often it is asked whether it answers, and how many times it may not before that is said and before it is ended. */
export interface RedisWatch {
  readonly everyMs: number
  readonly saidAfter: number
  readonly endedAfter: number
}

/** A machine that stands still has no new clients for some seconds. Only a script that does not end takes minutes. */
const WATCH: RedisWatch = { everyMs: 5000, saidAfter: 4, endedAfter: 30 }

/**
 * Starts the Redis that all test files of a run share. If it ends before `stop`, it says so on standard error with the end
 * of its log, and starts again on its port, empty: the tests that come later would wait for it in vain. One that does not
 * answer any more is ended in such a way that its log says what it does.
 */
export async function startRedisOfRun(
  watch: RedisWatch = WATCH,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-run-'))
  const logfile = join(folder, 'redis.log')
  const port = await freePort()
  let isStopped = false
  let ends = 0
  let running: Promise<RedisServer> = start()
  const { url } = await running
  const stopWatching = watchAnswers(port, watch, async () => (await running).pid)
  return {
    url,
    async stop() {
      isStopped = true
      stopWatching()
      // One that could not start again has ended.
      await running.then(
        (server) => server.stop(),
        () => {},
      )
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
    say(`ended by ${how}, and starts again. The end of its log:\n${endOf(readFileSync(logfile, 'utf8'))}`)
    running = start()
    const note = (): void => noteEnd({ from, to: Date.now(), how })
    running.then(note, (error: Error) => {
      say(`could not start again: ${error.message}`)
      note()
    })
  }
}

/** A report can be longer than the end, and a crash within it leaves it without its last line. */
function endOf(log: string): string {
  const lines = log.split('\n')
  const report = lines.findLastIndex((line) => line.includes('REDIS BUG REPORT START'))
  const end = Math.max(lines.length - LOG_LINES, 0)
  const begin = report === -1 ? [] : lines.slice(report, Math.min(report + REPORT_LINES, end))
  return [...begin, ...lines.slice(end)].join('\n')
}

/** @returns a function that ends the watch */
function watchAnswers(port: number, watch: RedisWatch, pidOf: () => Promise<number>): () => void {
  let silences = 0
  const look = async (): Promise<void> => {
    const isHeard = await isAnsweringRedis(port)
    if (isHeard && silences >= watch.saidAfter) say('answers again')
    silences = isHeard ? 0 : silences + 1
    if (silences === watch.saidAfter) say(`does not answer. ${stateOf(await pidOf())}`)
    if (silences === watch.endedAfter) process.kill(await pidOf(), 'SIGSEGV')
  }
  // One that could not start again was spoken of.
  const timer = setInterval(() => void look().catch(() => {}), watch.everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

function say(text: string): void {
  process.stderr.write(`The Redis of the run ${text}\n`)
}

/** Whether a process computes, sleeps or is stopped, as Linux says it; '' elsewhere. */
function stateOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return `Its process is in state ${fields[0]}, and has computed for ${fields[11]} clock ticks.`
  } catch {
    return ''
  }
}

function noteEnd(end: { from: number; to: number; how: string }): void {
  const file = process.env[REDIS_ENDS_VARIABLE]
  if (file) appendFileSync(file, `${JSON.stringify(end)}\n`)
}
