import { internalsOf, isHiddenId } from '@tollgate/core/adapter'
import { subjectForIp, type Booking, type Limiter, type Subject } from '@tollgate/core'
import type { ChangeAnswer, ChangeBody, ChangeKind } from './answers.js'
import { findRules } from './find.js'
import type { Operator } from './options.js'
import { plansOf } from './reports/plans.js'
import { isOfStore } from './reports/reason.js'
import type { Asked, Found } from './reports/subject.js'
import { hiddenId, problem } from './responses.js'

/** Who makes a change, and what is known of whom it is about. */
interface Changing extends Operator {
  readonly planOf: (asked: Asked) => Promise<Found>
}

type Change = (limiter: Limiter, body: ChangeBody, changing: Changing) => Promise<ChangeAnswer>

const CHANGES: Readonly<Record<ChangeKind, Change>> = {
  async block(limiter, body, who) {
    const rule = await limiter.block(subjectOf(body), { ...endOf(body), ...noteOf(body, who) })
    return done(`${nameOf(body)} is blocked until ${timeOf(rule.until)}.`)
  },
  async unblock(limiter, body, who) {
    const wasBlocked = await limiter.unblock(subjectOf(body), noteOf(body, who))
    return wasBlocked ? done(`${nameOf(body)} is not blocked any more.`) : nothing('There was no such block.')
  },
  async override(limiter, body, who) {
    const { factor, limits, toPlan } = body
    const gift = {
      ...(factor !== undefined && { factor }),
      ...(limits !== undefined && { limits }),
      ...(toPlan !== undefined && { plan: toPlan }),
    }
    const rule = await limiter.override(subjectOf(body), { ...gift, ...endOf(body), ...noteOf(body, who) })
    return done(`${nameOf(body)} has other limits until ${timeOf(rule.until)}.`)
  },
  async scale(limiter, body, who) {
    const { plan = '', factor = Number.NaN } = body
    const rule = await limiter.scale(plan, factor, { ...endOf(body), ...noteOf(body, who) })
    return done(`The limits of the plan ${plan} are multiplied by ${factor} until ${timeOf(rule.until)}.`)
  },
  async lift(limiter, body, who) {
    const { lifts = 'block', plan = '' } = body
    const rules = await findRules(limiter, lifts, lifts === 'scale' ? plan : subjectOf(body))
    let isLifted = false
    // Blocks that came by themselves are ended by `unblock`.
    for (const rule of rules.filter(({ level }) => level === undefined))
      isLifted = (await rule.lift(noteOf(body, who))) || isLifted
    return isLifted ? done('The rule was lifted.') : nothing('There is no such rule any more.')
  },
  async topUp(limiter, body, { planOf }) {
    const { limit = '', units = Number.NaN, key = '' } = body
    const subject = await withItsPlan(body, planOf)
    const isOpen = body.for === undefined && body.until === undefined
    const end = isOpen ? await windowEndOf(limiter, subject, limit) : endOf(body)
    const booking = await limiter.topUp(subject, { limit, units, key, ...end })
    return booked(
      booking,
      `${nameOf(body)} was given ${units.toLocaleString('en')} units beside the quota of ${limit}.`,
    )
  },
  async renew(limiter, body, { planOf }) {
    const { limit = '', key = '' } = body
    const booking = await limiter.renew(await withItsPlan(body, planOf), { limit, key })
    return booked(booking, `The limit ${limit} of ${nameOf(body)} begins afresh.`)
  },
  async reset(limiter, body) {
    const wasUsed = await limiter.reset(withPlan(body))
    return wasUsed
      ? done(`What ${nameOf(body)} has used is forgotten.`)
      : nothing('There was nothing to forget.')
  },
  async forgetPlan(limiter, body) {
    await limiter.forgetPlan(withPlan(body), { everywhere: true })
    return done(`The next request of ${nameOf(body)} in each process asks for its plan.`)
  },
}

export const CHANGE_KINDS = Object.keys(CHANGES) as readonly ChangeKind[]

const TYPES: Readonly<Record<keyof ChangeBody, string>> = {
  ...{ kind: 'string', id: 'string', isAddress: 'boolean', isPrefix: 'boolean', plan: 'string' },
  ...{ for: 'string', until: 'string', reason: 'string', factor: 'number', toPlan: 'string' },
  ...{ lifts: 'string', limit: 'string', units: 'number', key: 'string', limits: 'object' },
}

/** Those that hold for all ids with a beginning, too. */
const OF_RULES: readonly ChangeKind[] = ['block', 'unblock', 'override', 'lift']
const LIFTED: readonly string[] = ['block', 'override', 'scale']

/** @returns the body of a change, or why it is none */
export function readChange(text: string): ChangeBody | Response {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return problem(400, 'The body is not JSON.')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return problem(400, 'The body is not an object.')
  for (const [name, value] of Object.entries(given)) {
    const expected = Object.hasOwn(TYPES, name) ? TYPES[name as keyof ChangeBody] : undefined
    if (expected === undefined) return problem(400, `${name}: there is no such field.`)
    // Limits are `unlimited`, or a list of texts.
    const fits = name === 'limits' ? isLimits(value) : typeof value === expected
    const wrong =
      name === 'limits' ? "write a list such as ['5000/min'], or 'unlimited'" : `it is no ${expected}`
    if (!fits) return problem(400, `${name}: ${wrong}.`)
  }
  const { kind, id, lifts, plan } = given as ChangeBody
  if (!Object.hasOwn(CHANGES, kind ?? '')) return problem(400, `kind: write ${CHANGE_KINDS.join(', ')}.`)
  if (kind === 'lift' && !LIFTED.includes(lifts ?? ''))
    return problem(400, `lifts: write ${LIFTED.join(', ')}.`)
  const isOfPlan = kind === 'scale' || (kind === 'lift' && lifts === 'scale')
  if (isOfPlan && !plan) return problem(400, 'plan: it is missing.')
  if (!isOfPlan && !id) return problem(400, 'id: it is missing.')
  if (!isOfPlan && isHiddenId(id ?? '')) return hiddenId()
  if ((given as ChangeBody).isPrefix && !OF_RULES.includes(kind))
    return problem(400, `isPrefix: ${kind} takes a whole id.`)
  return given as ChangeBody
}

function isLimits(given: unknown): boolean {
  return given === 'unlimited' || (Array.isArray(given) && given.every((one) => typeof one === 'string'))
}

/** Makes a change. What the limiter refuses is answered with its own words. */
export async function change(limiter: Limiter, body: ChangeBody, changing: Changing): Promise<Response> {
  const known = plansOf(limiter).map(({ name }) => name)
  // On a mistyped plan, other limits would be forgotten or booked on.
  if (body.plan !== undefined && known.length > 0 && !known.includes(body.plan))
    return problem(400, `plan: there is no plan ${body.plan}. They are ${known.join(', ')}.`)
  try {
    return Response.json(await CHANGES[body.kind](limiter, body, changing))
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_TOLLGATE_CLOSED')
      return problem(503, 'This limiter was closed.')
    if (isOfStore(error))
      return problem(503, 'The store does not answer. It may have got the change: look before you repeat it.')
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    if (typeof code === 'string' && code.startsWith('ERR_TOLLGATE_'))
      return problem(400, `${String(message)}.`)
    throw error
  }
}

/** As the calls for rules take it: a text with a `*` at its end is the beginning of ids. */
function subjectOf({ id = '', isAddress, isPrefix }: ChangeBody): Subject | string {
  if (isPrefix) return `${id}*`
  return isAddress ? subjectForIp(id) : { id }
}

function withPlan({ id = '', isAddress, plan }: ChangeBody): Subject {
  const subject = isAddress ? subjectForIp(id) : { id }
  return plan === undefined ? subject : { ...subject, plan }
}

/**
 * On another plan, units would be those of another limit. So the plan is always named: this limiter need not be the one that knows it.
 * Where nobody says the plan, the limiter refuses an id alone.
 */
async function withItsPlan(body: ChangeBody, planOf: Changing['planOf']): Promise<Subject | string> {
  const { id = '', isAddress = false } = body
  const { plan } = await planOf({ id, isAddress, plan: body.plan })
  if (plan !== undefined) return withPlan({ ...body, plan })
  return isAddress ? withPlan(body) : id
}

/** The end of its window of now, or the length of one that would begin now. */
async function windowEndOf(
  limiter: Limiter,
  subject: Subject | string,
  name: string,
): Promise<{ readonly until: Date } | { readonly for: number }> {
  const { running } = await limiter.usageOf(subject, { limit: name })
  if (running) return { until: running.until }
  const about = typeof subject === 'string' ? { id: subject } : subject
  const { limits } = await internalsOf(limiter).look(limiter, [about], true)
  return { for: limits.find((limit) => limit.name === name)?.windowMs ?? 0 }
}

function endOf({ for: length, until }: ChangeBody): { readonly for?: string; readonly until?: string } {
  return { ...(length !== undefined && { for: length }), ...(until !== undefined && { until }) }
}

function noteOf({ reason }: ChangeBody, { by }: Operator): { readonly by: string; readonly reason?: string } {
  return { by, ...(reason !== undefined && reason !== '' && { reason }) }
}

function nameOf({ id = '', isPrefix }: ChangeBody): string {
  return isPrefix ? `Whoever begins with ${id}` : id
}

function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function done(says: string): ChangeAnswer {
  return { done: true, says }
}

function nothing(says: string): ChangeAnswer {
  return { done: false, says }
}

function booked({ isRepeated }: Booking, says: string): ChangeAnswer {
  return isRepeated ? nothing('This key was booked before, so nothing was changed now.') : done(says)
}
