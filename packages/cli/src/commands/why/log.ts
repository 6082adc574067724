import type { DenialLog, DenialLogOptions, DenialRecord } from '@tollgate/core'
import { EXIT, wrong, type ExitCode } from '../../errors.js'
import type { Output } from '../../output/output.js'
import { safeText } from '../../output/safe-text.js'
import type { Cell } from '../../output/table.js'
import { counted, lengthInWords, numberInWords, timeInWords } from '../../output/words.js'
import { configure, type Context } from '../../session/configuration.js'
import { needHashIds, unreadInWords, UNSEEN, withSession } from '../../session/session.js'
import { shownSubject, subjectOf } from '../../session/subject.js'
import { sentencesOf, type Cause } from './cause.js'
import type { WhyFlags } from './why.js'

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000]
/** More rows are for programs. */
const MOST_ROWS = 50

/** Says what the log of denials has about a customer, or about all. */
export async function readLog(context: Context<WhyFlags>, id: string | undefined): Promise<ExitCode> {
  const { flags, out } = context
  const of = id === undefined ? undefined : subjectOf(id, flags)
  const around = flags.at === undefined ? undefined : readAround(flags.at)
  const configuration = await configure(context)
  return withSession(context, configuration, async (session) => {
    const { limiter, nowMs } = session
    if (id !== undefined) await needHashIds(session)
    const asked = { ...(of !== undefined && { of }), ...(around ? around(nowMs) : { from: nowMs - DAY_MS }) }
    const log = await limiter.denialLog(asked)
    out.json({ ...log, complete: log.from.getTime() <= asked.from })
    const hasDenials = log.denials.length > 0
    if (!out.isJson) {
      print(out, log, { ...asked, nowMs, id })
      const { processes, unread } = await limiter.traffic({ most: 1 })
      if (unread > 0) out.say(unreadInWords(unread))
      else if (!hasDenials && processes === 0) out.say(UNSEEN)
    }
    return hasDenials ? EXIT.done : EXIT.refused
  })
}

interface Asked extends Pick<DenialLogOptions, 'of'> {
  readonly from: number
  readonly until?: number
  readonly nowMs: number
  readonly id: string | undefined
}

/**
 * The time of a complaint is seldom exact, so a minute before and after it count, too.
 *
 * @throws {CommandError} for what is no time, or is one in a zone that nobody knows
 */
function readAround(given: string): (nowMs: number) => { readonly from: number; readonly until: number } {
  const around = (ms: number): { from: number; until: number } => ({
    from: ms - MINUTE_MS,
    until: ms + MINUTE_MS,
  })
  const [, hours, minutes, seconds = '0'] = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(given) ?? []
  if (hours !== undefined && minutes !== undefined) {
    const ofDayMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
    return (nowMs) => {
      const todayMs = nowMs - (nowMs % DAY_MS) + ofDayMs
      return around(todayMs > nowMs ? todayMs - DAY_MS : todayMs)
    }
  }
  const ms = msOf(given)
  if (ms !== undefined) return () => around(ms)
  throw wrong(
    '--at',
    given,
    'a time of day in UTC, such as 14:03, or a date and time with its zone, such as 2027-01-31T14:03:00Z',
  )
}

const DATE = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i

/** Undefined for what is no date and time with its zone, such as 31 February. */
function msOf(given: string): number | undefined {
  const [, day] = DATE.exec(given) ?? []
  if (day === undefined || !new Date(`${day}T00:00Z`).toJSON()?.startsWith(day)) return undefined
  const ms = Date.parse(given)
  return Number.isFinite(ms) ? ms : undefined
}

function print(out: Output, { from, denials }: DenialLog, asked: Asked): void {
  const { id, nowMs, until } = asked
  const who = id === undefined ? 'Nobody' : shownSubject(id)
  const [begin, end] = [asked.from, until ?? nowMs].map((ms) => timeInWords(new Date(ms), nowMs))
  const [latest] = denials
  if (!latest) out.say(`${who} was ${id === undefined ? '' : 'not '}denied between ${begin} and ${end}.`)
  else {
    out.table(
      COLUMNS,
      denials.slice(0, MOST_ROWS).map((record) => cellsOf(record, nowMs)),
    )
    out.line()
    if (denials.length > MOST_ROWS)
      out.line(`And ${numberInWords(denials.length - MOST_ROWS)} more: --json has all.`)
    const all = denials.reduce((sum, { count }) => sum + count, 0)
    const [first, last] = [Math.min(...denials.map((one) => one.first.getTime())), latest.last.getTime()]
    const isWithin = first >= asked.from && last <= (until ?? Infinity)
    // A record can be longer than what was asked for, and its denials are only counted together.
    const [since, to] = isWithin ? [begin, end] : [first, last].map((ms) => timeInWords(new Date(ms), nowMs))
    const how = isWithin ? '' : ', in records of some minutes'
    out.say(`${counted(all, 'denial')} between ${since} and ${to}${how}. The latest:`)
    for (const sentence of sentencesOf(causeOf(latest), nowMs)) out.say(sentence, '  ')
  }
  if (from.getTime() > asked.from) out.say(`The log reaches back to ${timeInWords(from, nowMs)}.`)
}

function causeOf({ last, waitMs, ...record }: DenialRecord): Cause {
  return { ...record, at: last, fitsAt: waitMs === null ? null : new Date(last.getTime() + waitMs) }
}

const COLUMNS = [
  { title: 'FROM (UTC)' },
  { title: 'UNTIL' },
  { title: 'DENIALS', align: 'right' },
  { title: 'OF', narrow: 'cut' },
  { title: 'PLAN', narrow: 'cut' },
  { title: 'LIMIT', narrow: 'cut' },
  { title: 'USED', align: 'right' },
  { title: 'COST', align: 'right' },
  { title: 'FITS IN', align: 'right' },
  { title: 'SOURCE', narrow: 'cut' },
  { title: 'ROUTE', narrow: 'cut' },
] as const

function cellsOf(record: DenialRecord, nowMs: number): readonly Cell[] {
  const {
    subject,
    plan,
    limit,
    limitOf,
    reason,
    source,
    first,
    last,
    count,
    cost,
    used,
    quota,
    waitMs,
    route,
  } = record
  return [
    timeInWords(first, nowMs).replace(/ UTC$/, ''),
    last.toISOString().slice(11, 19),
    numberInWords(count),
    safeText(subject),
    safeText(plan, 32),
    safeText(limitOf === undefined ? (limit ?? reason) : `${limit} of ${limitOf}`, 40),
    used === undefined || quota === undefined ? '' : `${numberInWords(used)} of ${numberInWords(quota)}`,
    numberInWords(cost),
    waitMs === null ? { text: 'never', style: 'bad' } : lengthInWords(waitMs),
    safeText(source),
    safeText(route ?? '', 60),
  ]
}
