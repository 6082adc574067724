import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { whatIsLeft, type Left } from './afterwards.ts'
import { Crew } from './crew.ts'
import { judge, type Disturbance, type Verdict } from './judge.ts'
import { judgeUses } from './metered.ts'
import { readNotes, type Run } from './record.ts'
import { PLACES } from './subjects.ts'
import { TROUBLES, type Happened, type Trouble } from './troubles.ts'
import type { Ended } from './worker-process.ts'

const PROCESSES = 4
/** What is promised, and what a test asks for, which runs beside others. */
const WITHIN_US = { promised: 15_000_000, short: 20_000_000 }
const DEADLINE_MS = 1000
/** Longer than a decision ever takes: its deadline, and what a busy machine adds. */
const ANSWERED_WITHIN_MS = 5 * DEADLINE_MS

export interface Case {
  readonly trouble: string
  readonly policy: 'closed' | 'local'
  readonly seconds: number
  readonly stopMs: number
  readonly longestMs: number
  readonly seed: number
  /** Part of npm test: one kill, and times are judged only roughly. */
  readonly isShort: boolean
}

export interface Result extends Case, Verdict, Left {
  readonly runs: number
  /** Units of those who wait in line or reserve. */
  readonly used: number
  readonly byPolicy: number
  readonly decisions: number
  readonly declaredAgain: number
  /** In ms. */
  readonly longestDecision: number
}

export async function runCase(given: Case): Promise<Result> {
  const withinUs = withinUsOf(given)
  const trouble = TROUBLES[given.trouble] as Trouble
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-in-flight-'))
  const servers = await trouble.start()
  const { policy, stopMs, longestMs, seed, isShort } = given
  const shared = { policy, longestMs, processes: PROCESSES, deadlineMs: DEADLINE_MS }
  const crew = new Crew({ servers, folder, stopMs, seed, isShort, shared })
  try {
    await crew.begin()
    await sleep(given.seconds * 250)
    const happened = await trouble.happen(crew, servers)
    // Also long enough to see the slots of the dead in use again.
    const untilBack = Math.max(0, ...happened.killed.map(({ at }) => at + withinUs))
    await sleep(Math.max(0, given.seconds * 1000 - crew.now() / 1000, (untilBack - crew.now()) / 1000))
    const ended = await crew.end()
    const lastUs = crew.now()
    const left = await whatIsLeft(servers, withinUs / 1000)
    return { ...given, ...left, ...conclude(given, crew, { happened, ended, lastUs, left }) }
  } finally {
    crew.stop()
    await servers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Over {
  readonly happened: Happened
  readonly ended: readonly Ended[]
  /** When the last process had ended. */
  readonly lastUs: number
  readonly left: Left
}

type Concluded = Omit<Result, keyof Case | keyof Left> & Pick<Result, 'violations'>

function conclude(given: Case, { started }: Crew, { happened, ended, lastUs, left }: Over): Concluded {
  const { isOutage, isStopped } = TROUBLES[given.trouble] as Trouble
  const read = started.map(({ notes, number }) => readNotes(notes, number))
  const runs = read.flatMap((one) => one.runs)
  const uses = read.flatMap((one) => one.uses)
  const disturbances = [
    ...happened.disturbances.map((one) => ({ ...one, share: ownShare(given, isOutage) })),
    ...withoutStore(runs),
  ]
  const shared = { places: PLACES, processes: PROCESSES, withinUs: withinUsOf(given) }
  const verdict = judge({ ...happened, ...shared, runs, disturbances })
  const dead = happened.killed.flatMap(({ by }) => by)
  const losses = happened.disturbances.filter(({ more }) => more > 0)
  const violations = [
    ...verdict.violations,
    ...judgeUses(uses, losses),
    ...left.violations,
    ...neverEnded(runs, dead, lastUs),
    ...wrongIn(ended, dead.length),
    ...(given.isShort ? [] : tooLate(ended, isStopped ? given.stopMs : 0)),
  ]
  const used = uses.reduce((sum, { units }) => sum + units, 0)
  return { ...verdict, violations, used, ...figuresOf(ended, runs) }
}

const withinUsOf = ({ isShort }: Case): number => (isShort ? WITHIN_US.short : WITHIN_US.promised)
const ownShare = ({ policy }: Case, isOutage: boolean): number =>
  isOutage && policy === 'local' ? 1 / PROCESSES : 0

/** A busy machine can make any request miss its deadline, and then its process decides. */
function withoutStore(runs: readonly Run[]): Disturbance[] {
  return runs
    .filter(({ isOfStore }) => !isOfStore)
    .map(({ from }) => ({ from, to: from, more: 0, share: 1 / PROCESSES }))
}

function neverEnded(runs: readonly Run[], dead: readonly number[], lastUs: number): string[] {
  const open = runs.filter(({ by, to }) => to > lastUs && !dead.includes(by))
  return open.length > 0 ? [`${open.length} runs never ended`] : []
}

/** A process that stood still could not answer. */
function tooLate(ended: readonly Ended[], stoodMs: number): string[] {
  return ended
    .flatMap(({ told }) => told?.longestMs ?? [])
    .filter((ms) => ms > ANSWERED_WITHIN_MS + stoodMs)
    .map((ms) => `a decision took ${ms.toFixed(0)} ms`)
}

function wrongIn(ended: readonly Ended[], dead: number): string[] {
  const told = ended.flatMap((one) => one.told ?? [])
  const thrown = told.flatMap((one) => one.thrown)
  const unanswered = told.reduce((sum, one) => sum + one.unanswered, 0)
  const killed = ended.filter(({ how }) => how === 'SIGKILL').length
  const codes = ended.map(({ how }) => how).filter((how) => how !== 0 && how !== 'SIGKILL')
  return [
    ...(thrown.length > 0 ? [`thrown: ${thrown.join('; ')}`] : []),
    ...(unanswered > 0 ? [`${unanswered} requests were never answered`] : []),
    ...(codes.length > 0 || killed !== dead
      ? [`processes ended with ${codes.join(', ')}, ${killed} killed`]
      : []),
  ]
}

function figuresOf(
  ended: readonly Ended[],
  runs: readonly Run[],
): Omit<Result, 'used' | keyof Case | keyof Verdict | keyof Left> {
  const told = ended.flatMap((one) => one.told ?? [])
  const sum = (figure: 'decisions' | 'byPolicy' | 'declaredAgain'): number =>
    told.reduce((total, one) => total + one[figure], 0)
  return {
    runs: runs.length,
    byPolicy: sum('byPolicy'),
    decisions: sum('decisions'),
    declaredAgain: sum('declaredAgain'),
    longestDecision: Math.max(...told.map(({ longestMs }) => longestMs)),
  }
}
