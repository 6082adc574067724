import uPlot from 'uplot'
import { clockText, numberText, rateText, shareText } from '../words.ts'
import { colourOf } from './colours.ts'

export interface Layer {
  readonly label: string
  /** The custom property of its colour. */
  readonly tone: string
  readonly values: readonly (number | null)[]
}

export type Kind = 'areas' | 'bars' | 'lines'

export interface Look {
  readonly kind: Kind
  readonly height: number
  /** In seconds since 1970. */
  readonly from: number
  readonly to: number
}

const LEAST_FOR_A_LINE = 3
const FONT = '12px text, system-ui, sans-serif'
const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]]

/** From the top of the stack to the bottom, so that the lower ones are drawn over it. */
export function stacked(layers: readonly Layer[]): readonly Layer[] {
  const tops: Layer[] = []
  let below: readonly (number | null)[] = layers[0]?.values.map(() => 0) ?? []
  for (const layer of layers) {
    const values = layer.values.map((value, at) => (value === null ? null : value + (below[at] ?? 0)))
    tops.unshift({ ...layer, values })
    below = values
  }
  return tops
}

export function textOf(kind: Kind, value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (kind === 'lines') return shareText(value)
  return kind === 'bars' ? numberText(value) : rateText(value)
}

const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((zeros) => [1, 2, 5].map((first) => first * 10 ** zeros))
const STEPS = { bars: WHOLE, areas: [0.1, 0.2, 0.5, ...WHOLE], lines: [0.1, 0.25, 0.5, 1, 2, 5, 10] }

function axes(kind: Kind, near: Element): uPlot.Axis[] {
  const shared = {
    stroke: colourOf('--soft', near),
    font: FONT,
    ticks: { show: false },
  }
  return [
    {
      ...shared,
      size: 24,
      gap: 6,
      space: 70,
      grid: { show: false },
      incrs: [60, 120, 300, 600, 900, 1_800, 3_600],
      values: (_, marks) => marks.map((mark) => clockText(mark * 1000)),
    },
    {
      ...shared,
      size: 46,
      gap: 8,
      space: 44,
      incrs: STEPS[kind],
      grid: { stroke: colourOf('--line', near), width: 1 },
      values: (_, marks) => marks.map((mark) => textOf(kind, mark)),
    },
  ]
}

function seriesOf(kind: Kind, { label, tone }: Layer, nth: number, near: Element): uPlot.Series {
  const stroke = colourOf(tone, near)
  // Two make a line that is too short to see.
  const isDotted = (plot: uPlot): boolean => kind !== 'bars' && (plot.data[0]?.length ?? 0) < LEAST_FOR_A_LINE
  const shared = { label, stroke, points: { show: isDotted, size: 6, width: 0, fill: stroke } }
  if (kind === 'lines') return { ...shared, width: 1.75, dash: DASHES[nth % DASHES.length] ?? [] }
  const fill = colourOf(kind === 'bars' ? tone : `${tone}-area`, near)
  if (kind === 'areas') return { ...shared, fill, width: 1.25 }
  const paths = uPlot.paths.bars?.({ size: [0.72, 40] })
  return { ...shared, fill, width: 0, ...(paths && { paths }) }
}

function highest(kind: Kind, most: number): number {
  if (kind === 'lines') return Math.max(1, most)
  return Math.max(most * 1.12, kind === 'bars' ? 4 : 1)
}

export function optionsOf(
  layers: readonly Layer[],
  look: () => Look,
  near: HTMLElement,
  onCursor: (at: number | null) => void,
): uPlot.Options {
  const { kind, height } = look()
  return {
    width: Math.max(near.clientWidth, 120),
    height,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { time: true, range: () => [look().from, look().to] },
      y: { range: (_, _least, most) => [0, highest(kind, most)] },
    },
    axes: axes(kind, near),
    series: [{}, ...layers.map((layer, nth) => seriesOf(kind, layer, nth, near))],
    hooks: {
      setCursor: [
        ({ cursor }) => onCursor(cursor.left !== undefined && cursor.left >= 0 ? (cursor.idx ?? null) : null),
      ],
    },
  }
}
