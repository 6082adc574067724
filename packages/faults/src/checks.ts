import { figuresOf, type Figures, type Run } from './figures.ts'
import {
  BACK_WITHIN_MS,
  BUYING,
  CHECKS,
  DEADLINE_MS,
  FLOODING,
  GOOD,
  LATE_MS,
  LEASED,
  OPEN_P99_MS,
  type Check,
} from './settings.ts'
import { planOf, tenantsOf } from './stores/store.ts'

type Rule = (run: Run, figures: Figures) => string[]

/**
 * After its return, the store must make at least this share of the decisions. Not all, since some may be late on a busy
 * machine.
 */
const LEAST_STORE_SHARE = 0.9

const RULES: Readonly<Record<Check, Rule>> = {
  answered: ({ answers }, { byStatus }) => {
    if (answers.length === 0) return ['no request was sent']
    const errors = [...new Set(answers.flatMap(({ error }) => error ?? []))]
    return byStatus[0] === undefined ? [] : [`${byStatus[0]} requests had no answer: ${errors.join(', ')}`]
  },

  'in time before the breaker opens': (_, { before, rest, control }) =>
    Object.entries({
      'in the fault': [before, control.before],
      'outside of it': [rest, control.rest],
    } as const)
      .filter(([, [{ p99 }, timer]]) => p99 > Math.max(DEADLINE_MS, timer) + LATE_MS)
      .map(
        ([when, [{ p99 }, timer]]) =>
          `${p99.toFixed(1)} ms at p99 ${when} (${timer.toFixed(1)} for a timer without a limiter)`,
      ),

  'at once while it is open': ({ fault }, { open, control }) =>
    fault.isPartial || open.p99 <= OPEN_P99_MS + control.open
      ? []
      : [`${open.p99.toFixed(1)} ms at p99 (${control.open.toFixed(1)} without a limiter)`],

  'the breaker opens': ({ fault, hasBreaker }, { breakerOpened }) => {
    if (fault.isPartial || breakerOpened) return []
    return [hasBreaker ? 'it stayed closed' : 'there is none']
  },

  'who is let in': ({ policy, answers, report }) => {
    const unavailable = policy === 'closed' ? [503] : []
    const expected = (who: string): number[] =>
      [FLOODING, LEASED, BUYING].includes(who)
        ? [0, 200, 429, ...unavailable]
        : [0, 200, ...(GOOD.includes(who) ? unavailable : [])]
    const statuses = answers
      .filter(({ who, status }) => !expected(who).includes(status))
      .map(({ who, status }) => `${who} got ${status}`)
    const sources = report.entries
      .filter(
        ({ who, source }) => !['', 'store', policy, ...(who === LEASED ? ['lease'] : [])].includes(source),
      )
      .map(({ who, source }) => `${who} was let in by ${source}`)
    return tally([...statuses, ...sources])
  },

  'no more than the plan': ({ store, fault }, { most }) =>
    Object.entries(most).flatMap(([who, { outside, byStore, byLocal }]) => {
      const once = store.mostOf(planOf(store, who)?.quota ?? 0)
      // A store that loses its counts may admit as much again in a window: before the loss and after it.
      const inFault = fault.forgets ? 2 * once : once
      const cases = [
        [outside, once, 'outside the fault'],
        [byStore, inFault, 'by the store'],
        [byLocal, once, 'by this process alone'],
      ] as const
      return cases
        .filter(([units, bound]) => units > bound)
        .map(([units, bound, how]) => `${who} got ${units} in a window ${how}, bound ${bound}`)
    }),

  'leases are served': ({ store, fault, beganAt, report }) => {
    if (!planOf(store, LEASED)) return []
    const isServed = report.entries.some(({ at, source }) => source === 'lease' && at < beganAt)
    return fault.fromStart || isServed ? [] : ['no request was served from a lease before the fault']
  },

  'bookings count once': ({ store, fault, report: { booked } }) => {
    const plan = planOf(store, BUYING)
    if (!plan?.topUp || !booked) return plan?.topUp ? ['the application said nothing of them'] : []
    const { sent, answered, countedAgain, units } = booked
    const [least, most] = [fault.forgets ? 0 : plan.topUp * answered, plan.topUp * sent]
    const isWrong = units !== undefined && (units < least || units > most)
    return [
      ...(answered > 0 || fault.fromStart ? [] : ['none was answered']),
      ...(countedAgain > 0 && !fault.forgets
        ? [`${countedAgain} counted again when they were repeated`]
        : []),
      ...(units === undefined && !fault.isForGood ? ['the store did not say what it has of them'] : []),
      ...(isWrong
        ? [`the store has ${units} units, and ${answered} to ${sent} orders of ${plan.topUp} were booked`]
        : []),
    ]
  },

  'losses are reported': ({ fault, report: { evicted } }) =>
    fault.evicts && evicted === 0 ? ['the limiter reported no loss'] : [],

  'the others go on': (run) => (run.fault.sparesSome ? whoGoesOn(run) : []),

  'back at all': ({ fault }, { backMs }) =>
    fault.isForGood || backMs !== undefined ? [] : ['it never asked the store again'],

  'back in time': ({ fault }, { backMs, storeShare }) => {
    if (fault.isForGood || backMs === undefined) return []
    const late = backMs > BACK_WITHIN_MS ? [`${backMs.toFixed(0)} ms after the store`] : []
    const share = `only ${(storeShare * 100).toFixed(0)} % of answers are the store's after that`
    return storeShare < LEAST_STORE_SHARE ? [...late, share] : late
  },

  'no crash': ({ exit: { code, signal, isByItself, stderr } }) => {
    const cries = /.*(?:unhandled|uncaught).*/i.exec(stderr)
    return [
      ...(isByItself ? [] : ['it did not end']),
      ...(isByItself && code !== 0 ? [`it ended with ${signal ?? code}: ${stderr.trim().slice(-300)}`] : []),
      ...(cries ? [cries[0]] : []),
    ]
  },
}

/** The faults of a run, in sentences; empty if all is well. */
export function violationsOf(run: Run, checks: Readonly<Record<Check, boolean>> = CHECKS): string[] {
  const figures = figuresOf(run)
  return (Object.keys(RULES) as Check[])
    .filter((check) => checks[check])
    .flatMap((check) => RULES[check](run, figures).map((what) => `${check}: ${what}`))
}

/** Of a fault that hits some tenants: those that it spares must have the store, once the breaker of the others is open. */
function whoGoesOn({ store, report, beganAt, returnedAt = Infinity }: Run): string[] {
  const opened = report.breaker.find(({ at, state }) => state === 'open' && at >= beganAt)
  // A denial does not say what decided it.
  const during = report.entries.filter(
    ({ at, status }) => at >= (opened?.at ?? beganAt) && at < returnedAt && status !== 429,
  )
  const shares = tenantsOf(store).flatMap((who) => {
    const own = during.filter((entry) => entry.who === who)
    const byStore = own.filter(({ source }) => source === 'store')
    return own.length === 0 ? [] : [{ who, share: byStore.length / own.length }]
  })
  return [
    ...(shares.some(({ share }) => share > 0) ? [] : ['the store decided for no tenant']),
    ...(shares.some(({ share }) => share === 0) ? [] : ['it affected no tenant']),
    ...shares
      .filter(({ share }) => share > 0 && share < LEAST_STORE_SHARE)
      .map(
        ({ who, share }) => `the store made only ${(share * 100).toFixed(0)} % of the decisions for ${who}`,
      ),
  ]
}

function tally(sentences: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const sentence of sentences) counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
  return [...counts].map(([sentence, count]) => `${sentence}, ${count} times`)
}
