import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { StateAnswer, SubjectAnswer } from '../../src/answers.ts'
import { Chart } from '../charts/chart.tsx'
import type { Layer } from '../charts/options.ts'
import { Panel } from '../parts/panel.tsx'
import { listText, shareText, shortText } from '../words.ts'
import { shareOf } from './limits.tsx'

/** Half an hour, at one look each two seconds. */
const MOST = 900
const LEAST_SPAN_S = 120
const HEIGHT = 160

interface Look {
  readonly at: number
  readonly limits: readonly StateAnswer[]
}

function layersOf(looks: readonly Look[]): readonly Layer[] {
  const { limits = [] } = looks.at(-1) ?? {}
  return limits.map(({ name }, nth) => ({
    label: shortText(name),
    tone: `--line-${nth % 4}`,
    values: looks.map((look) => {
      const limit = look.limits.find((one) => one.name === name)
      return limit ? shareOf(limit) : null
    }),
  }))
}

function sentence(look: Look | undefined): string {
  const parts = look?.limits.map((limit) => `${shareText(shareOf(limit))} of ${shortText(limit.name)}`) ?? []
  return `Chart of what it uses of each limit since this page was opened. Now ${listText(parts) || 'nothing'}.`
}

export function UseChart({ subject }: { readonly subject: SubjectAnswer | null }): VNode {
  const [looks, setLooks] = useState<readonly Look[]>([])
  useEffect(() => {
    if (!subject) return
    const look = { at: Date.parse(subject.at) / 1000, limits: subject.limits }
    setLooks((last) => [...last, look].slice(-MOST))
  }, [subject])
  const to = looks.at(-1)?.at ?? Date.now() / 1000
  const from = Math.min(looks[0]?.at ?? to, to - LEAST_SPAN_S)
  return (
    <Panel title="Its use" covers="Share of each limit since this page was opened" name="use">
      <Chart
        look={{ kind: 'lines', height: HEIGHT, from, to }}
        times={looks.map(({ at }) => at)}
        layers={layersOf(looks)}
        says={sentence(looks.at(-1))}
      />
    </Panel>
  )
}
