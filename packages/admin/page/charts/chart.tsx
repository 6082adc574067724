import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { useStore } from '../store.ts'
import { colours } from '../theme.ts'
import { timeText } from '../words.ts'
import { optionsOf, stacked, textOf, type Layer, type Look } from './options.ts'

interface Given {
  readonly look: Look
  /** In seconds since 1970. */
  readonly times: readonly number[]
  /** From the bottom of the stack. */
  readonly layers: readonly Layer[]
  /** The picture as a sentence. */
  readonly says: string
}

type Cursor = number | null

export function Chart({ look, times, layers, says }: Given): VNode {
  const [cursor, setCursor] = useState<Cursor>(null)
  const holder = useChart({ look, times, layers, says }, setCursor)
  return (
    <figure class="chart">
      <Legend kind={look.kind} times={times} layers={layers} cursor={cursor} />
      <div ref={holder} class="plot" role="img" aria-label={says} style={{ height: `${look.height}px` }} />
    </figure>
  )
}

function dataOf({ look, times, layers }: Given): uPlot.AlignedData {
  const drawn = look.kind === 'lines' ? layers : stacked(layers)
  return [[...times], ...drawn.map(({ values }) => [...values])]
}

function useChart(given: Given, setCursor: (cursor: Cursor) => void): { current: HTMLDivElement | null } {
  const holder = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const latest = useRef(given)
  latest.current = given
  const shades = useStore(colours)
  const names = given.layers.map(({ label, tone }) => `${label} ${tone}`).join('|')
  useLayoutEffect(() => {
    const near = holder.current
    if (!near) return undefined
    const { layers, look } = latest.current
    const drawn = look.kind === 'lines' ? layers : layers.toReversed()
    const made = new uPlot(
      optionsOf(drawn, () => latest.current.look, near, setCursor),
      dataOf(latest.current),
      near,
    )
    chart.current = made
    return () => made.destroy()
  }, [names, shades, given.look.kind, given.look.height])
  useEffect(() => chart.current?.setData(dataOf(latest.current)), [given.times, given.layers, given.look])
  useEffect(() => followWidth(holder.current, chart), [])
  return holder
}

function followWidth(near: HTMLElement | null, chart: { current: uPlot | null }): (() => void) | undefined {
  if (!near) return undefined
  const observer = new ResizeObserver(() => {
    const width = near.clientWidth
    const made = chart.current
    if (made && width > 0 && width !== made.width) made.setSize({ width, height: made.height })
  })
  observer.observe(near)
  return () => observer.disconnect()
}

interface LegendGiven extends Pick<Given, 'times' | 'layers'> {
  readonly kind: Look['kind']
  readonly cursor: Cursor
}

function Legend({ kind, times, layers, cursor }: LegendGiven): VNode {
  const at = cursor ?? times.length - 1
  const time = times[at]
  const hasSeconds = kind !== 'bars'
  return (
    <figcaption class="legend">
      {layers.map(({ label, tone, values }, nth) => (
        <span key={label} class="legend-entry">
          <i class={`key ${tone.slice(2)} ${kind === 'lines' ? `dash-${nth % 4}` : ''}`} aria-hidden="true" />
          <bdi>{label}</bdi> <b class="number">{textOf(kind, values[at])}</b>
        </span>
      ))}
      <span class="legend-time number">{time === undefined ? '' : timeText(time * 1000, hasSeconds)}</span>
    </figcaption>
  )
}
