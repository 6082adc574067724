import { setTimeout as sleep } from 'node:timers/promises'
import type { Policy } from '../settings.ts'
import { startProcess } from '../soak/worker-process.ts'
import { judge, type Allowed, type Row } from './judge.ts'
import { addressesOf, disturb, openCluster, readUsed } from './place.ts'
import { COUNTERS, nameOf, QUOTA, subjectOf } from './subjects.ts'
import type { Batch, WorkerOptions } from './worker-options.ts'

export interface ClusterRunOptions {
  readonly seconds: number
  readonly seed: number
  readonly say: (text: string) => void
}

const POLICIES: readonly Policy[] = ['closed', 'local', 'closed', 'local']
const PER_SECOND = 60
const DEADLINE_MS = 250
const PROGRAM = new URL('./worker.ts', import.meta.url)
/** The disturbance begins after this share of the time. */
const BEFORE = 0.3

interface Seen {
  readonly allowed: Allowed[]
  readonly answers: Record<string, number>
  readonly storeErrors: Record<string, number>
  readonly thrown: string[]
  charged: number
  dropped: number
}

/** Runs four processes on a cluster that loses a primary and moves slots. Resolves to the exit code. */
export async function runOnCluster({ seconds, seed, say }: ClusterRunOptions): Promise<number> {
  const started = performance.now()
  const tell = (text: string): void => say(`${((performance.now() - started) / 1000).toFixed(1)} s: ${text}`)
  say(`cluster: ${seconds} s, seed ${seed}, ${POLICIES.length} processes of ${PER_SECOND} requests a second`)
  const cluster = await openCluster()
  const seen: Seen = { allowed: [], answers: {}, storeErrors: {}, thrown: [], charged: 0, dropped: 0 }
  try {
    const shared = { nodes: addressesOf(cluster), processes: POLICIES.length, perSecond: PER_SECOND }
    const workers = POLICIES.map((policy, i) => {
      const options: WorkerOptions = { ...shared, policy, seed: seed + i, deadlineMs: DEADLINE_MS }
      return startProcess<Batch>(PROGRAM, options, (batch) => take(batch, seen))
    })
    await sleep(seconds * 1000 * BEFORE)
    const { loss, lost } = await disturb(cluster, tell)
    await sleep(Math.max(0, started + seconds * 1000 - performance.now()))
    const codes = await Promise.all(workers.map((worker) => worker.stop()))
    const used = await readUsed(cluster)
    const names = COUNTERS.filter((counter) => lost.has(String(subjectOf(counter).id))).map(nameOf)
    const { allowed } = seen
    const verdict = judge({ allowed, used, loss, lost: new Set(names), processes: POLICIES.length })
    const wrong = [...verdict.violations, ...wrongInGeneral(seen, codes)]
    report(verdict.rows, verdict.windows, seen, say)
    say(wrong.length === 0 ? 'no violations' : `WRONG:\n- ${wrong.join('\n- ')}`)
    return wrong.length === 0 ? 0 : 1
  } finally {
    await cluster.stop()
  }
}

function wrongInGeneral({ allowed, thrown }: Seen, codes: readonly (number | string)[]): string[] {
  return [
    ...(allowed.length === 0 ? ['nothing was let in'] : []),
    ...(thrown.length > 0 ? [`thrown: ${thrown.slice(0, 5).join('; ')}`] : []),
    ...(codes.some((code) => code !== 0) ? [`processes ended with ${codes.join(', ')}`] : []),
  ]
}

function take(batch: Batch, seen: Seen): void {
  seen.allowed.push(...batch.allowed)
  seen.thrown.push(...batch.thrown)
  for (const [answer, count] of Object.entries(batch.answers))
    seen.answers[answer] = (seen.answers[answer] ?? 0) + count
  for (const [reason, count] of Object.entries(batch.storeErrors))
    seen.storeErrors[reason] = (seen.storeErrors[reason] ?? 0) + count
  seen.charged += batch.charged
  seen.dropped += batch.dropped
}

function report(rows: readonly Row[], windows: number, seen: Seen, say: (text: string) => void): void {
  const list = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  say('\n| counters | shard | how many | units a day | allowed | counted at the end | full | wrong |')
  say('| --- | --- | --- | --- | --- | --- | --- | --- |')
  for (const { kind, isLost, counters, allowed, used, full, wrong } of rows) {
    const shard = isLost ? 'lost' : 'lived'
    say(`| ${kind} | ${shard} | ${counters} | ${QUOTA[kind]} | ${allowed} | ${used} | ${full} | ${wrong} |`)
  }
  say(`\nanswers       ${list(seen.answers)}`)
  say(`store errors  ${list(seen.storeErrors)}`)
  say(`afterwards    ${seen.charged} units charged, ${seen.dropped} dropped; ${windows} windows judged`)
}
