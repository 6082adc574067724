import { createLimiter, type Rule, type Store, type Subject, type Usage } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import type { RuleEntry, RuleList, RulesCall, RulesReply } from '@tollgate/core/store'
import { EXIT } from '../errors.js'
import type { Output } from '../output/output.js'
import { safeText } from '../output/safe-text.js'
import type { Cell } from '../output/table.js'
import { endInWords, lengthInWords, numberInWords, quotaInWords, timeInWords } from '../output/words.js'
import { configure, needPlan, withSession, type Session, type SharedFlags } from '../session/session.js'
import { shownSubject, withPlan, type SubjectFlags } from '../session/subject.js'
import { addCommand, withConnection, withSubject, type Shell } from './command.js'
import { RULE_COLUMNS, ruleCells, ruleJson } from './rule-words.js'

type ShowFlags = SharedFlags & SubjectFlags & { readonly plan?: string }
type Look = Awaited<ReturnType<ReturnType<typeof internalsOf>['look']>>
type Limit = Look['limits'][number]

/** All that is known of a customer. */
interface Seen {
  readonly subject: Subject
  readonly look: Look
  /** Of each limit whose window begins and ends. */
  readonly usage: readonly Usage[]
  readonly rules: readonly Rule[]
  /** Set while a rule blocks the customer. */
  readonly blockedBy: Rule | undefined
}

export function addShow(shell: Shell): void {
  const command = addCommand<ShowFlags>(
    shell,
    {
      usage: 'show <id>',
      summary: 'what a customer has used, what is left, and what rules hold for it',
      about:
        'Shows each limit of a customer: its quota, what is used and left, when more is back, its top-ups, its requests in flight, and the rules for it. It takes no units.',
      examples: [
        ['show acme', 'on the plan that planOf or defaultPlan in the plans file says'],
        ['show acme --plan pro', 'if the application names the plan with each request'],
        ['show 203.0.113.7 --ip', "a client's address"],
      ],
    },
    async (context, id = '') => {
      const { flags, out } = context
      const configuration = await configure(context)
      needPlan(configuration, flags.plan)
      const subject = asSubject(withPlan(id, flags))
      return withSession(context, configuration, async (session) => {
        const seen = await see(session, subject)
        out.json(toJson(seen))
        const { options } = session
        const isGuess =
          flags.plan === undefined && !options.planOf && Object.keys(options.plans ?? {}).length > 1
        if (!out.isJson) print(out, id, seen, isGuess)
        return EXIT.done
      })
    },
  )
  withConnection(withSubject(command.option('--plan <name>', "the customer's plan")))
}

/** An id that ends with `*` is an id here, and no beginning of ids. */
function asSubject(given: Subject | string): Subject {
  return typeof given === 'string' ? { id: given } : given
}

async function see(session: Session, subject: Subject): Promise<Seen> {
  const { limiter } = session
  const rules: Rule[] = []
  for await (const rule of limiter.rules({ of: subject })) rules.push(rule)
  const blockedBy = rules.find(({ kind, level }) => kind === 'block' && level === undefined)
  // A rule that blocks a customer answers before its limits are asked. So they are asked where no rule blocks.
  const look = await (blockedBy
    ? lookBehindBlock(session, subject)
    : internalsOf(limiter).look(limiter, [subject]))
  for await (const rule of limiter.rules())
    if (rule.kind === 'scale' && rule.of === look.decision.plan) rules.push(rule)
  const usage: Usage[] = []
  for (const { name } of look.limits) {
    const one = await limiter.usageOf(withItsPlan(subject, look), { limit: name }).catch(ifNoWindows)
    if (one) usage.push(one)
  }
  return { subject, look, usage, rules, blockedBy }
}

/** `usageOf` takes no id alone where there are several plans. */
function withItsPlan(subject: Subject, { decision: { plan } }: Look): Subject {
  return plan === '' || subject.plan !== undefined ? subject : { ...subject, plan }
}

/** Limits whose units come back one by one have no windows to tell of. */
function ifNoWindows(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code === 'ERR_TOLLGATE_CONFIG') return undefined
  throw error
}

async function lookBehindBlock({ options, store }: Session, subject: Subject): Promise<Look> {
  const limiter = createLimiter({ ...options, store: withoutBlocks(store), traffic: false })
  try {
    // Until the rules are read once, a limiter knows no override.
    await limiter.rules()[Symbol.asyncIterator]().next()
    return await internalsOf(limiter).look(limiter, [subject])
  } finally {
    await limiter.close()
  }
}

/** The same store, where no rule blocks. What it is asked changes nothing, and it stays open. */
function withoutBlocks(store: Store): Store {
  // A store of its own for core, or both would share what is known of the rules.
  const space = {}
  const rules = store.rules && { sync: (call: RulesCall) => readWithoutBlocks(store.rules as RuleList, call) }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'space') return space
      if (name === 'rules') return rules
      if (name === 'close') return undefined
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function readWithoutBlocks(rules: RuleList, { known }: RulesCall): Promise<RulesReply> {
  const reply = await rules.sync({ known, changes: [], restored: [] })
  const isBlock = ({ text }: RuleEntry): boolean => text.includes('"kind":"block"')
  // An entry without a text is a rule that was lifted.
  return { ...reply, entries: reply.entries.map((one) => (isBlock(one) ? { ...one, text: '' } : one)) }
}

function toJson({ subject, look, usage, rules, blockedBy }: Seen): unknown {
  const { decision, limits, atMs } = look
  const { plan, block, reason, override } = decision
  const isBlocked = blockedBy !== undefined || reason === 'blocked'
  return {
    ...{ subject: { id: subject.id, kind: subject.kind }, plan, at: new Date(atMs) },
    ...(isBlocked && { blocked: { until: blockedBy?.until ?? block?.until ?? null } }),
    ...(override && { override: true }),
    limits: limits.map(({ timeZone: _, ...limit }) => ({
      ...limit,
      backAt: limit.resetMs === 0 ? null : new Date(atMs + limit.resetMs),
    })),
    usage,
    rules: rules.map(ruleJson),
  }
}

/** @param isGuess whether the plan is only the default plan */
function print(out: Output, id: string, seen: Seen, isGuess: boolean): void {
  const { look, usage, rules, blockedBy } = seen
  const { decision, limits, atMs } = look
  const plan =
    decision.plan === '' ? '' : ` on the ${isGuess ? 'default ' : ''}plan ${safeText(decision.plan)}`
  out.say(`${out.paint('strong', shownSubject(id))}${plan}, at ${timeInWords(new Date(atMs), atMs)}`)
  out.line()
  const blockedUntil = blockedBy?.until ?? decision.block?.until
  if (blockedUntil) out.say(`${out.paint('bad', 'Blocked')} until ${endInWords(blockedUntil, atMs)}.`)
  else if (decision.reason === 'blocked')
    out.say(`${out.paint('bad', 'Blocked')}, because its plan is 'blocked'.`)
  if (blockedUntil || decision.reason === 'blocked') out.line()
  if (limits.length === 0) {
    if (decision.reason !== 'blocked') out.line('Its plan has no limits.')
  } else {
    out.table(LIMIT_COLUMNS, limits.map(cellsOf))
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
  if (rules.length === 0) return out.line('No rules hold for it.')
  out.table(
    RULE_COLUMNS,
    rules.map((rule) => ruleCells(rule, atMs)),
  )
}

const LIMIT_COLUMNS = [
  { title: 'LIMIT', narrow: 'cut' },
  { title: 'QUOTA', align: 'right' },
  { title: 'USED', align: 'right' },
  { title: '', align: 'right' },
  { title: 'LEFT', align: 'right' },
  { title: 'TOPPED UP', align: 'right' },
  { title: 'OVER', align: 'right' },
  { title: 'MORE IN', align: 'right' },
] as const

function cellsOf(limit: Limit): readonly Cell[] {
  const { name, quota, quotaUnit, windowMs, used, remaining, resetMs, over, toppedUp } = limit
  const share = used / Math.max(quota, used + remaining - (toppedUp ?? 0), 1)
  const isUsedUp = remaining === 0 && over === undefined
  const style = isUsedUp ? 'bad' : share >= 0.8 ? 'odd' : 'good'
  const left = numberInWords(remaining)
  return [
    safeText(name, 40),
    quotaInWords(quota, windowMs),
    quotaUnit === undefined ? numberInWords(used) : `${numberInWords(used)} in flight`,
    { text: `${Math.floor(share * 100)}%`, style },
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
