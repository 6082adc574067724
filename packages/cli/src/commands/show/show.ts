import type { Usage } from '@tollgate/core'
import { EXIT, type ExitCode } from '../../errors.js'
import type { Output } from '../../output/output.js'
import { safeText } from '../../output/safe-text.js'
import type { Cell } from '../../output/table.js'
import { endInWords, lengthInWords, numberInWords, quotaInWords, timeInWords } from '../../output/words.js'
import { configure, needPlan, withPlansOfStore, type SharedFlags } from '../../session/configuration.js'
import { asSubject, type PlanFrom } from '../../session/plan.js'
import { isAlive, needHashIds, UNSEEN, withSession, type Session } from '../../session/session.js'
import { shownSubject, withGiven, type GivenFlags } from '../../session/subject.js'
import { addCommand, withConnection, withGivenOptions, withSubject, type Shell } from '../command.js'
import { see, type Seen } from './seen.js'
import { RULE_COLUMNS, ruleCells, ruleJson } from '../rule-words.js'

type Limit = Seen['look']['limits'][number]
type ShowFlags = SharedFlags & GivenFlags
export function addShow(shell: Shell): void {
  const command = addCommand<ShowFlags>(
    shell,
    {
      usage: 'show <id>',
      summary: 'what a customer has used, what is left, and what rules hold for it',
      about:
        'Shows each limit of a customer: its quota, what is used and left, when more is back, its top-ups, its requests in flight and in line, and the rules for it. It takes no units.',
      examples: [
        ['show acme', 'on the plan that the application says: one of its processes is asked'],
        ['show acme --plan pro', 'on this plan, if the application names the plan with each request'],
        ['show 203.0.113.7 --ip', "a client's address"],
      ],
    },
    async (context, id = '') => {
      const { flags, out } = context
      const configuration = await configure(context)
      if (configuration.plans) needPlan(configuration, flags.plan)
      const subject = asSubject(withGiven(id, flags))
      const show = async (session: Session): Promise<ExitCode> => {
        await needHashIds(session)
        const seen = await see(session, subject)
        out.json(toJson(seen))
        if (!out.isJson) print(out, id, seen)
        if (seen.planFrom === 'default' && !(await isAlive(session))) out.note(UNSEEN)
        return EXIT.done
      }
      return withSession(context, configuration, show, { complete: withPlansOfStore })
    },
  )
  withConnection(withSubject(withGivenOptions(command)))
}

function toJson({ subject, planFrom, look, usage, rules, blockedBy, planError }: Seen): unknown {
  const { decision, limits, atMs } = look
  const { plan, block, reason, override } = decision
  const isBlocked = blockedBy !== undefined || reason === 'blocked'
  return {
    ...{ subject: { id: subject.id, kind: subject.kind }, plan, planFrom, at: new Date(atMs) },
    ...(planError !== undefined && { planError }),
    ...(isBlocked && { blocked: { until: blockedBy?.until ?? block?.until ?? null } }),
    ...(override && { override: true }),
    limits: limits.map((limit) => ({
      ...limit,
      timeZone: undefined,
      backAt: limit.resetMs === 0 ? null : new Date(atMs + limit.resetMs),
    })),
    usage,
    rules: rules.map(ruleJson),
  }
}

function print(out: Output, id: string, seen: Seen): void {
  const { look, usage, rules, blockedBy, planFrom, planError } = seen
  const { decision, limits, atMs } = look
  const at = timeInWords(new Date(atMs), atMs)
  out.say(`${out.paint('strong', shownSubject(id))}${planInWords(decision.plan, planFrom)}, at ${at}`)
  if (planError !== undefined)
    out.say(
      `Its plan was not found, so these are the limits of the default plan: ${safeText(planError, 300)}`,
    )
  out.line()
  const blockedUntil = blockedBy?.until ?? decision.block?.until
  if (blockedUntil) out.say(`${out.paint('bad', 'Blocked')} until ${endInWords(blockedUntil, atMs)}.`)
  else if (decision.reason === 'blocked')
    out.say(`${out.paint('bad', 'Blocked')}, because its plan is 'blocked'.`)
  if (blockedUntil || decision.reason === 'blocked') out.line()
  if (limits.length === 0) {
    if (decision.reason !== 'blocked') out.line('Its plan has no limits.')
  } else {
    printLimits(out, limits)
  }
  // What is billed by the window. For others, the table above says the same.
  const billed = usage.filter(
    ({ limit, closed }) => closed || limits.some(({ name, over }) => name === limit && over !== undefined),
  )
  const told = billed.flatMap((one) => windowsOf(one, atMs))
  if (told.length > 0) {
    out.line()
    out.table(WINDOW_COLUMNS, told)
  }
  out.line()
  if (planFrom === 'default')
    out.say(
      'Nobody has said its plan, and none of its requests was seen lately. Pass --plan if it has another.',
    )
  if (rules.length === 0) return out.line('No rules hold for it.')
  out.table(
    RULE_COLUMNS,
    rules.map((rule) => ruleCells(rule, atMs)),
  )
}

function printLimits(out: Output, limits: readonly Limit[]): void {
  out.table(LIMIT_COLUMNS, limits.map(cellsOf))
  if (limits.some(({ held }) => held !== undefined)) out.say(HELD)
}

const HELD =
  'HELD is the part of USED that no request has used yet: units on lease, reserved, or of requests that wait in line.'

const SEEN: { readonly [From in PlanFrom]?: string } = {
  requests: ', as its last requests were',
  denial: ', as its last denial was',
  counts: ', on which it has used units',
}

function planInWords(plan: string, from: PlanFrom): string {
  const name = safeText(plan)
  if (plan === '') return ''
  if (from === 'default') return ` on the default plan ${name}`
  return ` on the plan ${name}${SEEN[from] ?? ''}`
}

const LIMIT_COLUMNS = [
  { title: 'LIMIT', narrow: 'cut' },
  { title: 'QUOTA', align: 'right' },
  { title: 'USED', align: 'right' },
  { title: '', align: 'right' },
  { title: 'HELD', align: 'right' },
  { title: 'LEFT', align: 'right' },
  { title: 'TOPPED UP', align: 'right' },
  { title: 'OVER', align: 'right' },
  { title: 'MORE IN', align: 'right' },
] as const

function cellsOf(limit: Limit): readonly Cell[] {
  const { name, quota, quotaUnit, windowMs, used, remaining, resetMs, over, toppedUp, held } = limit
  const share = used / Math.max(quota, used + remaining - (toppedUp ?? 0), 1)
  const isUsedUp = remaining === 0 && over === undefined
  const style = isUsedUp ? 'bad' : share >= 0.8 ? 'odd' : 'good'
  const left = numberInWords(remaining)
  return [
    safeText(name, 40),
    quotaInWords(quota, windowMs),
    quotaUnit === undefined ? numberInWords(used) : `${numberInWords(used)} in flight`,
    { text: `${Math.floor(share * 100)}%`, style },
    held === undefined ? '' : numberInWords(held),
    isUsedUp ? { text: left, style } : left,
    toppedUp === undefined ? '' : numberInWords(toppedUp),
    over === undefined ? '' : over > 0 ? { text: numberInWords(over), style: 'odd' } : '0',
    resetMs === 0 ? '' : lengthInWords(resetMs),
  ]
}

const WINDOW_COLUMNS = [
  { title: 'WINDOW' },
  { title: 'FROM (UTC)' },
  { title: 'UNTIL (UTC)' },
  { title: 'USED', align: 'right' },
  { title: 'OVER', align: 'right' },
] as const

/** The running window of a limit, and the one before it. */
function windowsOf({ limit, running, closed }: Usage, nowMs: number): readonly (readonly Cell[])[] {
  const row = (what: string, one: NonNullable<Usage['running']>): readonly Cell[] => [
    `${safeText(limit, 40)}, ${what}`,
    ...[one.from, one.until].map((time) => timeInWords(time, nowMs).replace(/ UTC$/, '')),
    numberInWords(one.used),
    one.over > 0 ? { text: numberInWords(one.over), style: 'odd' } : '0',
  ]
  return [...(running ? [row('now', running)] : []), ...(closed ? [row('last', closed)] : [])]
}
