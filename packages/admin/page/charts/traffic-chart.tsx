import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { SampleAnswer } from '../../src/answers.ts'
import { Panel } from '../parts/panel.tsx'
import { Time } from '../parts/time.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { rateText, latencyText } from '../words.ts'
import { Chart } from './chart.tsx'
import type { Layer } from './options.ts'

/** As wide as what there is, in these bounds. */
const [LEAST_SPAN_S, SPAN_S] = [120, 300]
/** A longer pause between two samples is a gap: nobody looked. */
const GAP_MS = 5_000
const HEIGHT = 220
/** One row of the table for so long. */
const ROW_MS = 10_000

interface Lines {
  readonly times: readonly number[]
  readonly layers: readonly Layer[]
}

function linesOf(samples: readonly SampleAnswer[]): Lines {
  const times: number[] = []
  const allowed: (number | null)[] = []
  const refused: (number | null)[] = []
  let last = Infinity
  for (const { at, allowedPerSecond, deniedPerSecond, storeMs } of samples) {
    // Without an answer of the store, nothing is known: that is no zero.
    const isKnown = storeMs !== null
    if (at - last > GAP_MS) {
      times.push((last + 1_000) / 1000)
      allowed.push(null)
      refused.push(null)
    }
    times.push(at / 1000)
    allowed.push(isKnown ? allowedPerSecond : null)
    refused.push(isKnown ? deniedPerSecond : null)
    last = at
  }
  const layers = [
    { label: 'Allowed', tone: '--allowed', values: allowed },
    { label: 'Refused', tone: '--refused', values: refused },
  ]
  return { times, layers }
}

function rowOf(sample: SampleAnswer | undefined): number {
  return sample ? Math.floor(sample.at / ROW_MS) : 0
}

function rowsOf(samples: readonly SampleAnswer[]): readonly SampleAnswer[] {
  return samples.filter((sample, nth) => rowOf(sample) !== rowOf(samples[nth - 1])).toReversed()
}

function sentence(latest: SampleAnswer | undefined): string {
  if (latest?.storeMs === null)
    return 'Chart of requests per second over the last five minutes. Now the store does not answer.'
  if (!latest) return 'Chart of requests per second over the last five minutes. It is empty.'
  const allowed = rateText(latest.allowedPerSecond)
  const refused = rateText(latest.deniedPerSecond)
  return `Chart of requests per second over the last five minutes. Now ${allowed} are allowed and ${refused} refused.`
}

const COLUMNS: readonly Column<SampleAnswer>[] = [
  { title: 'At', name: 'wide', cell: ({ at }) => <Time at={at} hasSeconds /> },
  { title: 'Allowed per second', name: 'figure', cell: (sample) => rateText(sample.allowedPerSecond) },
  { title: 'Refused per second', name: 'figure', cell: (sample) => rateText(sample.deniedPerSecond) },
  { title: 'Store', name: 'figure less', cell: (sample) => latencyText(sample.storeMs) },
]

interface Given {
  readonly samples: readonly SampleAnswer[]
  readonly oldAt: number | undefined
}

export function TrafficChart({ samples, oldAt }: Given): VNode {
  const [isTable, setTable] = useState(false)
  const { times, layers } = useMemo(() => linesOf(samples), [samples])
  const to = (samples.at(-1)?.at ?? Date.now()) / 1000
  const from = Math.max(to - SPAN_S, Math.min((samples[0]?.at ?? 0) / 1000, to - LEAST_SPAN_S))
  return (
    <Panel
      title="Requests per second"
      name="traffic"
      covers="Means of up to a minute, all processes; recorded while somebody looks"
      oldAt={oldAt}
      tools={<TableToggle isTable={isTable} setTable={setTable} />}
    >
      {isTable ? (
        <div class="chart-table" tabIndex={0} role="group" aria-label="Requests per second as a table">
          <Table
            caption="Requests per second, the latest first"
            columns={COLUMNS}
            rows={rowsOf(samples)}
            keyOf={({ at }) => String(at)}
            none="Nothing was seen yet."
            first={SPAN_S}
          />
        </div>
      ) : (
        <Chart
          look={{ kind: 'areas', height: HEIGHT, from, to }}
          times={times}
          layers={layers}
          says={sentence(samples.at(-1))}
        />
      )}
    </Panel>
  )
}

interface ToggleGiven {
  readonly isTable: boolean
  readonly setTable: (isTable: boolean) => void
}

export function TableToggle({ isTable, setTable }: ToggleGiven): VNode {
  return (
    <button type="button" class="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
      {isTable ? 'Show as chart' : 'Show as table'}
    </button>
  )
}
