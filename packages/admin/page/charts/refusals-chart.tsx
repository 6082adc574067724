import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { RefusalsAnswer } from '../../src/answers.ts'
import { useFetched } from '../fetched.ts'
import { Panel } from '../parts/panel.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { listText, numberText, shortText } from '../words.ts'
import { Chart } from './chart.tsx'
import type { Layer } from './options.ts'
import { TableToggle } from './traffic-chart.tsx'

const EVERY_MS = 30_000
const HEIGHT = 220
const MOST = 6
/** As wide as the log reaches back, in these bounds. */
const [LEAST_SPAN_S, SPAN_S] = [900, 3_600]

type Minute = RefusalsAnswer['minutes'][number]

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

const NAMES: Readonly<Record<string, string>> = { 'store-unavailable': 'store unavailable' }

/** The causes that have a colour of their own, and all others together. */
function layersOf({ causes, minutes }: RefusalsAnswer): readonly Layer[] {
  const named = causes.length > MOST ? causes.slice(0, MOST - 1) : causes
  const layers = named.map((cause, nth) => ({
    label: NAMES[cause] ?? shortText(cause),
    tone: `--cause-${nth}`,
    values: minutes.map(({ counts }) => counts[nth] ?? 0),
  }))
  if (named.length === causes.length) return layers
  const values = minutes.map(({ counts }) => total(counts.slice(named.length)))
  return [...layers, { label: 'others', tone: `--cause-${MOST - 1}`, values }]
}

function sentence({ causes, minutes }: RefusalsAnswer): string {
  const parts = causes.map((cause, nth) => {
    const count = total(minutes.map(({ counts }) => counts[nth] ?? 0))
    return `${numberText(count)} by ${shortText(cause)}`
  })
  if (parts.length === 0) return 'Chart of refusals in the last hour. There were none.'
  return `Chart of refusals in the last hour: ${listText(parts)}.`
}

function columnsOf(causes: readonly string[]): readonly Column<Minute>[] {
  const named = causes.map((cause, nth) => ({
    title: shortText(cause, 16),
    name: `figure cause-column-${nth}`,
    cell: ({ counts }: Minute) => numberText(counts[nth] ?? 0),
  }))
  return [{ title: 'Minute', name: 'wide', cell: ({ at }) => <Time at={at} /> }, ...named]
}

const NOTHING: RefusalsAnswer = { from: '', causes: [], minutes: [] }

export function RefusalsChart(): VNode {
  const [isTable, setTable] = useState(false)
  const { answer, problem, at } = useFetched<RefusalsAnswer>('api/refusals', EVERY_MS)
  const isOld = problem !== '' && answer !== null
  return (
    <Panel
      title="Refusals by limit"
      name="refusals"
      covers={covers(answer)}
      oldAt={isOld ? at : undefined}
      problem={problem}
      tools={<TableToggle isTable={isTable} setTable={setTable} />}
    >
      {isTable ? <RefusalsTable answer={answer} /> : <RefusalsPicture answer={answer ?? NOTHING} />}
    </Panel>
  )
}

function covers(answer: RefusalsAnswer | null): VNode {
  if (!answer || isWholeHour(answer)) return <>Last hour by minute, all processes</>
  return (
    <>
      By minute since <Time at={answer.from} />, all processes
    </>
  )
}

/** The log in memory begins with the process. */
function isWholeHour({ from, minutes }: RefusalsAnswer): boolean {
  return minutes[0] === undefined || Date.parse(from) <= minutes[0].at
}

function RefusalsPicture({ answer }: { readonly answer: RefusalsAnswer }): VNode {
  const layers = useMemo(() => layersOf(answer), [answer])
  const times = useMemo(() => answer.minutes.map(({ at }) => at / 1000), [answer])
  const to = (times.at(-1) ?? Date.now() / 1000) + 30
  const begin = isWholeHour(answer) ? 0 : Date.parse(answer.from) / 1000
  const from = Math.max(to - SPAN_S, Math.min(begin, to - LEAST_SPAN_S)) - 30
  const look = { kind: 'bars', height: HEIGHT, from, to } as const
  return <Chart look={look} times={times} layers={layers} says={sentence(answer)} />
}

function RefusalsTable({ answer }: { readonly answer: RefusalsAnswer | null }): VNode {
  const { causes, minutes } = answer ?? NOTHING
  return (
    <div class="chart-table" tabIndex={0} role="group" aria-label="Refusals by limit as a table">
      <Table
        caption="Refusals by minute and limit, the latest first"
        columns={columnsOf(causes)}
        rows={minutes.filter(({ counts }) => total(counts) > 0).toReversed()}
        keyOf={({ at }) => String(at)}
        none={answer ? 'Nothing was refused in the last hour.' : 'Reading.'}
        first={60}
      />
    </div>
  )
}
