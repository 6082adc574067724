import type { ComponentChildren, VNode } from 'preact'
import type { FiguresAnswer, OverviewAnswer, ProcessAnswer, SampleAnswer } from '../../src/answers.ts'
import { Bone } from '../parts/panel.tsx'
import { Bar } from '../parts/share.tsx'
import { capitalText, countText, latencyText, numberText, rateText, shareText, sourceText } from '../words.ts'

interface FigureGiven {
  readonly title: string
  readonly value: ComponentChildren
  readonly unit?: string
  readonly note?: ComponentChildren
  readonly isWords?: boolean
}

function Figure({ title, value, unit, note, isWords = false }: FigureGiven): VNode {
  return (
    <div class={`figure-cell ${isWords ? 'in-words' : ''}`}>
      <dt>{title}</dt>
      <dd class="value number">
        {value ?? <Bone width="60%" />}
        {value !== null && unit && <small> {unit}</small>}
      </dd>
      <dd class="note">{note ?? '\u00a0'}</dd>
    </div>
  )
}

const AWAY: ReadonlySet<string> = new Set(['local', 'open', 'closed'])

interface Answered {
  readonly value: string
  readonly unit?: string
  readonly note: string
}

function roundText(share: number): string {
  return share < 0.01 ? '<1%' : shareText(Math.round(share * 100) / 100)
}

function answeredText({ answeredBy, hasAnswered }: ProcessAnswer): Answered {
  const all = Object.entries(answeredBy).filter(([, count]) => count > 0)
  const sum = all.reduce((total, [, count]) => total + count, 0)
  const sorted = all.toSorted(([, one], [, other]) => other - one)
  const [first] = sorted
  if (!hasAnswered) return { value: '–', note: 'this process only looks' }
  if (!first) return { value: 'idle', note: 'nothing asked this process' }
  const [source, count] = sorted.find(([name]) => AWAY.has(name)) ?? first
  const others = sorted.filter(([name]) => name !== source).slice(0, 2)
  const note = others.map(([name, one]) => `${sourceText(name)} ${roundText(one / sum)}`).join(', ')
  return { value: sourceText(source), unit: roundText(count / sum), note: note || 'and nothing else' }
}

/** @param isSilent whether the store has just not answered the page: the breaker may not know yet */
export function breakerText(
  { status, openShards }: ProcessAnswer,
  isSilent: boolean,
): {
  readonly value: string
  readonly note: string
} {
  if (status === 'closed') return { value: 'closed', note: 'the limiter was closed' }
  if (openShards.length > 0 && !isSilent) {
    const verb = openShards.length === 1 ? 'has' : 'have'
    const note = `${countText(openShards.length, 'shard')} ${verb} no answer`
    return { value: 'degraded', note }
  }
  if (isSilent || status === 'degraded') return { value: 'degraded', note: 'the store has no answer' }
  return { value: 'store decides', note: 'all shards answer' }
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]
}

function latencyFigure(samples: readonly SampleAnswer[]): FigureGiven {
  const known = samples.flatMap(({ storeMs }) => storeMs ?? [])
  const latest = samples.at(-1)
  const note = latest?.storeMs === null ? 'no answer now' : `latest ${latencyText(latest?.storeMs)}`
  const [value = '–', unit = ''] = latencyText(median(known)).split(' ')
  return {
    title: 'Store latency',
    value,
    unit,
    note: known.length > 0 ? `median; ${note}` : 'not measured yet',
  }
}

function refusedFigure({ requests, denied }: FiguresAnswer): FigureGiven {
  const share = requests > 0 ? denied / requests : 0
  const note = (
    <>
      <Bar share={share} tone="refused" />
      {numberText(denied)}
    </>
  )
  return { title: 'Refused', value: shareText(share), note }
}

function trafficFigures(figures: FiguresAnswer): readonly FigureGiven[] {
  const { requests, coversMs, processes, unread } = figures
  const others = unread > 0 ? `, and ${numberText(unread)} of another version` : ''
  const rate = coversMs > 0 ? (requests * 1000) / coversMs : 0
  return [
    { title: 'Requests', value: rateText(rate), unit: 'per second', note: `${numberText(requests)} in all` },
    refusedFigure(figures),
    { title: 'Processes', value: numberText(processes), note: `that had requests${others}` },
  ]
}

const UNKNOWN: readonly FigureGiven[] = ['Requests', 'Refused', 'Processes'].map((title) => ({
  title,
  value: null,
}))
const UNKNOWN_HERE: readonly FigureGiven[] = ['Answers now', 'Store latency', 'Breaker'].map((title) => ({
  title,
  value: null,
}))

function hereFigures({ process, samples, figures }: OverviewAnswer): readonly FigureGiven[] {
  const answered = answeredText(process)
  const breaker = breakerText(process, figures === null)
  return [
    { title: 'Answers now', ...answered, value: capitalText(answered.value), isWords: true },
    latencyFigure(samples),
    { title: 'Breaker', value: capitalText(breaker.value), note: breaker.note, isWords: true },
  ]
}

interface Given {
  readonly figures: FiguresAnswer | null
  readonly overview: OverviewAnswer | null
  readonly isOld: boolean
  readonly isHereOld: boolean
}

export function Figures({ figures, overview, isOld, isHereOld }: Given): VNode {
  const seen = figures ? trafficFigures(figures) : UNKNOWN
  const here = overview ? hereFigures(overview) : UNKNOWN_HERE
  return (
    <div class="strip">
      <dl class={isOld ? 'old' : ''}>
        {seen.map((figure) => (
          <Figure key={figure.title} {...figure} />
        ))}
      </dl>
      <dl class={isHereOld ? 'old' : ''}>
        {here.map((figure, nth) => (
          <Figure key={nth} {...figure} />
        ))}
      </dl>
    </div>
  )
}
