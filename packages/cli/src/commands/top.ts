import { setTimeout as sleep } from 'node:timers/promises'
import type { TrafficView } from '@tollgate/core'
import { EXIT, toCommandError, wrong, type ExitCode } from '../errors.js'
import type { Host } from '../host.js'
import type { Output } from '../output/output.js'
import { safeText, widthOf } from '../output/safe-text.js'
import type { Cell } from '../output/table.js'
import { counted, lengthInWords, numberInWords } from '../output/words.js'
import { configure, type Configuration, type Context, type SharedFlags } from '../session/configuration.js'
import { unreadInWords, UNSEEN, withSession, type Session } from '../session/session.js'
import { addCommand, withConnection, type Shell } from './command.js'

type TopFlags = SharedFlags & { readonly most?: string; readonly once?: boolean }

/** What is shown at one time. */
interface Frame extends TrafficView {
  /** How long Redis took to answer, in ms. */
  readonly storeMs: number
  readonly nowMs: number
}

/** As often as processes put down their figures while somebody looks. */
const EVERY_MS = 2000
/** Processes learn within a second that somebody looks. Within another, each puts its figures down, unless it did so less than two seconds ago. */
const NEWS_MS = 2000
/** Lines of a frame that are no rows. */
const OTHER_LINES = 9
const [LEAST, USUAL] = [1, 10]

export function addTop(shell: Shell): void {
  const command = addCommand<TopFlags>(
    shell,
    {
      usage: 'top',
      summary: 'who is busiest, denied most, and nearest to a limit, now',
      about:
        'Shows what all processes of the application have seen lately: up to a minute. On a terminal it goes on until Ctrl-C; in a pipe, it prints once.',
      examples: [
        ['top', 'live'],
        ['top --most 50 --once', 'longer lists, once'],
        ['top --json', 'once, for programs'],
      ],
    },
    top,
  )
  command
    .option('--most <number>', 'the rows of each list, from 1 to 200 (default: as many as fit, or 10)')
    .option('--once', 'print once, on a terminal too')
  withConnection(command)
}

async function top(context: Context<TopFlags>): Promise<ExitCode> {
  const { flags, out, host } = context
  const most = readMost(flags.most) ?? fitting(host)
  const isLive = out.width !== undefined && !out.isJson && flags.once !== true
  const configuration = await configure(context)
  if (isLive) return goOn(context, configuration, most)
  return withSession(context, configuration, async (session) => {
    await look(session, most)
    await sleep(NEWS_MS)
    const frame = await look(session, most)
    const { nowMs, ...view } = frame
    out.json({ at: new Date(nowMs), ...view })
    if (!out.isJson) for (const line of linesOf(frame, out)) out.line(line)
    return EXIT.done
  })
}

function readMost(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const most = /^\d{1,3}$/.test(given) ? Number(given) : 0
  if (most >= 1 && most <= 200) return most
  throw wrong('--most', given, 'a whole number from 1 to 200')
}

function fitting({ stdout: { rows } }: Host): number {
  return rows === undefined ? USUAL : Math.min(USUAL, Math.max(LEAST, Math.floor((rows - OTHER_LINES) / 3)))
}

async function look({ limiter, client }: Session, most: number): Promise<Frame> {
  const view = await limiter.traffic({ most })
  const sinceMs = performance.now()
  const [seconds, micros] = (await client.time()) as unknown as [number, number]
  const storeMs = Math.round((performance.now() - sinceMs) * 100) / 100
  return { ...view, storeMs, nowMs: Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) }
}

/** Draws one frame over the other, until the operator has seen enough. If Redis goes, it waits for it. */
async function goOn(context: Context, configuration: Configuration, most: number): Promise<ExitCode> {
  const { host, out } = context
  const ended = new AbortController()
  const undo = host.onInterrupt(() => ended.abort())
  const pause = (): Promise<unknown> => sleep(EVERY_MS, undefined, { signal: ended.signal }).catch(() => {})
  const draw = painter(host)
  let hasSeen = false
  const watch = async (session: Session): Promise<void> => {
    while (!ended.signal.aborted) {
      draw(linesOf(await look(session, most), out))
      hasSeen = true
      await pause()
    }
  }
  try {
    while (!ended.signal.aborted) {
      try {
        await withSession(context, configuration, watch)
      } catch (error) {
        const { exit, message } = toCommandError(error)
        if (!hasSeen || exit !== EXIT.store) throw error
        draw(out.linesIn(`${message} Trying again. Ctrl-C ends this.`))
        await pause()
      }
    }
    return EXIT.done
  } finally {
    undo()
  }
}

const ESCAPE = '\u001b'
const PAINTED = new RegExp(`${ESCAPE}\\[\\d+m`, 'g')

/** Draws lines over those that it has drawn before. */
function painter({ stdout }: Host): (lines: readonly string[]) => void {
  let height = 0
  return (all) => {
    const columns = stdout.columns ?? Infinity
    // A line that is wider than the terminal takes several of its rows.
    const rowsOf = (line: string): number =>
      Math.max(1, Math.ceil(widthOf(line.replace(PAINTED, '')) / columns))
    const lines: string[] = []
    let rows = 0
    for (const line of all) {
      if (rows + rowsOf(line) > (stdout.rows ?? Infinity) - 1) break
      rows += rowsOf(line)
      lines.push(line)
    }
    // Up to the first line of the frame before, and away with it.
    const over = height > 0 ? `\u001b[${height}A\u001b[J` : ''
    stdout.write(`${over}${lines.join('\n')}\n`)
    height = rows
  }
}

function linesOf(frame: Frame, out: Output): readonly string[] {
  const { requests, denied, processes, unread, coversMs, storeMs, nowMs, busiest, mostDenied, nearest } =
    frame
  const time = new Date(nowMs).toISOString().slice(11, 19)
  const store = `Redis answers in ${numberInWords(storeMs)} ms`
  const others = unread === 0 ? [] : out.linesIn(unreadInWords(unread))
  if (processes === 0)
    return [...out.linesIn(`${time} UTC. ${store}.`), ...(unread === 0 ? out.linesIn(UNSEEN) : others)]
  const seconds = Math.max(coversMs / 1000, 1)
  const rate = numberInWords(Math.round((requests / seconds) * 10) / 10)
  const sum = `${counted(requests, 'request')} in the last ${lengthInWords(coversMs)}, ${rate} a second, ${shareInWords(denied, requests)} denied`
  return [
    ...out.linesIn(`${time} UTC: ${sum}. ${counted(processes, 'process', 'es')}. ${store}.`),
    ...others,
    '',
    ...out.linesOf(BUSIEST, busiest.map(busyCells)),
    ...(mostDenied.length === 0
      ? []
      : [
          '',
          ...out.linesOf(
            MOST_DENIED,
            mostDenied.map(({ subject, plan, ...one }) => [
              ...whoOf(subject, plan),
              withError(one.denied, one.error),
            ]),
          ),
        ]),
    ...(nearest.length === 0 ? [] : ['', ...out.linesOf(NEAREST, nearest.map(nearCells))]),
  ]
}

const BUSIEST = [
  { title: 'BUSIEST', narrow: 'cut' },
  { title: 'PLAN', narrow: 'cut' },
  { title: 'REQUESTS', align: 'right' },
  { title: 'DENIED', align: 'right' },
  { title: 'UNITS', align: 'right' },
] as const

const MOST_DENIED = [
  { title: 'MOST DENIED', narrow: 'cut' },
  { title: 'PLAN', narrow: 'cut' },
  { title: 'DENIALS', align: 'right' },
] as const

const NEAREST = [
  { title: 'NEAREST', narrow: 'cut' },
  { title: 'PLAN', narrow: 'cut' },
  { title: 'LIMIT', narrow: 'cut' },
  { title: 'USED', align: 'right' },
  { title: '', align: 'right' },
] as const

function whoOf(subject: string, plan: string): readonly [string, string] {
  return [safeText(subject), safeText(plan, 32)]
}

function withError(count: number, error: number): string {
  return `${numberInWords(count)}${error > 0 ? ` ±${numberInWords(error)}` : ''}`
}

function shareInWords(part: number, whole: number): string {
  const percent = whole > 0 ? (100 * part) / whole : 0
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`
}

function busyCells({
  subject,
  plan,
  requests,
  error,
  denied,
  units,
}: Frame['busiest'][number]): readonly Cell[] {
  const share = shareInWords(denied, requests)
  return [
    ...whoOf(subject, plan),
    withError(requests, error),
    denied > 0 ? { text: share, style: 'odd' } : share,
    numberInWords(units),
  ]
}

function nearCells({ subject, plan, limit, share, used, quota }: Frame['nearest'][number]): readonly Cell[] {
  return [
    ...whoOf(subject, plan),
    safeText(limit, 40),
    `${numberInWords(used)} of ${numberInWords(quota)}`,
    { text: `${Math.floor(100 * share)}%`, style: share >= 1 ? 'bad' : share >= 0.8 ? 'odd' : 'good' },
  ]
}
