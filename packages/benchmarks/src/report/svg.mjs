// The charts: bars in groups with quartiles, and lines. They stand on the card of the pictures, in its colours.

import { box, card, line, round, text, WIDTH } from '../draw.mjs'
import { digits } from './words/figures.mjs'

const [LEFT, RIGHT] = [24, WIDTH - 24]
const LINE = 24
/** How wide small letters and digits are where they are largest. */
const LETTER = 11
const DIGIT = 12.5

const STYLE = `
  .value { font-variant-numeric: tabular-nums } .rule { stroke: var(--edge) } .curve { fill: none; stroke-width: 2.5 }
  .c-other { --c: var(--soft); --f: var(--grey) } .quartiles { stroke: var(--ink); stroke-width: 1.5 } .cut { stroke: var(--card) }
  .over { stroke: var(--ink) }`

const small = (lines, top) => lines.map((one, i) => text([LEFT, top + i * LINE], one, 'small soft'))

/** The card of a chart: title and unit at the top, the note at the bottom, and between them what `draw` returns. */
function chartCard({ title, unit, note, description }, draw) {
  const { parts, bottom } = draw(68 + unit.length * LINE)
  return card({
    height: bottom + 30 + note.length * LINE - 6,
    title,
    description: [...unit, description, ...note].join(' '),
    parts: [
      ...small(unit, 68),
      ...parts,
      line([LEFT, bottom], [RIGHT, bottom], 'rule'),
      ...small(note, bottom + 30),
    ],
    style: STYLE,
  })
}

const [NAME, THICK, GAP] = [27, 14, 14]
/** Of a row with several bars: each has a text beside it. */
const STEP = 23

/**
 * Horizontal bars, one for each series in every row, with a line from quartile to quartile. Ours have a bold name, a
 * stroke at the edge and a solid bar.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string[]} chart.unit what the figures are, in lines of at most 55 letters under the title
 * @param {string[]} chart.note lines at the bottom
 * @param {string[]} chart.series names that stand beside the bars; an empty one where each row has one bar
 * @param {{ label: string, isOurs: boolean, values: ({ low: number, middle: number, high: number } | undefined)[] }[]} chart.rows
 * @param {{ at: number, label: string }} [chart.mark] where a line is drawn: the reference
 * @returns {string} SVG
 */
export function barChart({ series, rows, mark, ...chart }) {
  const figures = rows.flatMap(({ values }) => values.filter(Boolean))
  const texts = alignedTexts(figures.map(({ middle }) => middle))
  const most = Math.max(mark?.at ?? 0, ...figures.map(({ high }) => high))
  const isNamed = series.some(Boolean)
  const from = isNamed ? LEFT + LETTER * longest(series) + 8 : LEFT
  const to = RIGHT - DIGIT * longest(texts.values()) - 12
  const scale = (value) => from + (value / most) * (to - from)
  const step = isNamed ? STEP : THICK
  return chartCard({ ...chart, description: rows.map((row) => inWords(row, series)).join(' ') }, (top) => {
    const parts = mark ? [text([scale(mark.at), top + 6], mark.label, 'small soft', 'middle')] : []
    let y = top + (mark ? 14 : -8)
    for (const { label, isOurs, values } of rows) {
      const height = NAME + series.length * step
      if (isOurs) parts.push(box([0.5, y + 3], [5, height], 'paint c-blue', 0))
      parts.push(text([LEFT, y + 18], label, isOurs ? 'strong' : ''))
      for (const [i, value] of values.entries()) {
        const middle = y + NAME + i * step + step / 2
        if (isNamed) parts.push(text([LEFT, middle + 6], series[i], 'small soft'))
        if (!value) continue
        parts.push(...bar(value, { middle, scale, isOurs }))
        parts.push(text([RIGHT, middle + 6], texts.get(value.middle), 'value', 'end'))
      }
      if (mark)
        parts.push(line([scale(mark.at), y + NAME - 4], [scale(mark.at), y + height + 4], 'mark over'))
      y += height + GAP
    }
    return { parts, bottom: y + 8 }
  })
}

const longest = (texts) => Math.max(...[...texts].map(({ length }) => length))

/** Figures whose points stand below each other: spaces as wide as a digit and a point fill them up. */
function alignedTexts(values) {
  const [POINT, PLACE] = ['\u2008', '\u2007']
  const fractionOf = (content) => content.split('.')[1]?.length ?? 0
  const places = Math.max(...values.map((value) => fractionOf(digits(value))))
  return new Map(
    values.map((value) => {
      const content = digits(value)
      const point = places > 0 && fractionOf(content) === 0 ? POINT : ''
      return [value, content + point + PLACE.repeat(places - fractionOf(content))]
    }),
  )
}

const inWords = ({ label, values }, series) =>
  `${label}: ${values
    .map((value, i) => value && `${digits(value.middle)} ${series[i]}`.trim())
    .filter(Boolean)
    .join(', ')}.`

function bar({ low, middle: median, high }, { middle, scale, isOurs }) {
  const from = scale(0)
  const end = Math.max(scale(median), from + 2)
  return [
    box([from, middle - THICK / 2], [end - from, THICK], isOurs ? 'paint c-blue' : 'tint c-other', 3),
    ...(high > low
      ? [
          line([scale(low), middle], [end, middle], isOurs ? 'quartiles cut' : 'quartiles'),
          line([end, middle], [scale(high), middle], 'quartiles'),
        ]
      : []),
  ]
}

const PLOT_HEIGHT = 260
const COLOURS = ['c-blue', 'c-orange', 'c-green']

/** Marks of several shapes, since not everybody tells lines apart by their colours. */
const MARKS = [
  (x, y, kind) => `<circle cx="${x}" cy="${y}" r="5" class="paint ${kind}"/>`,
  (x, y, kind) => box([x - 4.5, y - 4.5], [9, 9], `paint ${kind}`, 0),
  (x, y, kind) => `<path d="M${x} ${y - 6}l6 10.5h-12z" class="paint ${kind}"/>`,
]

/** Steps of 1, 2 or 5 times a power of ten, so that 4 to 6 of them reach `most`. */
function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [0.1, 0.2, 0.5, 1, 2].map((one) => one * power).find((one) => most / one <= 5)
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step)
}

/** As on the page, without zeros at the end. */
const tickText = (tick) => (tick >= 1000 ? digits(tick) : String(+digits(tick)))

/**
 * Lines over an axis of powers of ten, each with its name at its end.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string[]} chart.unit of the vertical axis, in lines of at most 55 letters under the title
 * @param {string[]} chart.note lines at the bottom
 * @param {{ label: string, points: [x: number, y: number][] }[]} chart.lines
 * @returns {string} SVG
 */
export function lineChart({ lines, ...chart }) {
  const all = lines.flatMap(({ points }) => points)
  const widest = Math.ceil(Math.log10(Math.max(...all.map(([x]) => x))))
  const ticks = ticksTo(Math.max(...all.map(([, y]) => y)))
  const left = LEFT + DIGIT * longest(ticks.map(tickText)) + 12
  const toX = (x) => round(left + (Math.log10(x) / widest) * (RIGHT - 8 - left))
  const description = lines.map(({ label, points }) => {
    const [first, last] = [points[0], points.at(-1)]
    return `${label}: ${digits(first[1])} at ${tickText(first[0])}, ${digits(last[1])} at ${tickText(last[0])}.`
  })
  return chartCard({ ...chart, description: description.join(' ') }, (above) => {
    const top = above + 4
    const toY = (y) => round(top + PLOT_HEIGHT - (y / ticks.at(-1)) * PLOT_HEIGHT)
    const parts = ticks.flatMap((tick) => [
      line([left, toY(tick)], [RIGHT, toY(tick)], 'rule'),
      text([left - 12, toY(tick) + 6], tickText(tick), 'small soft value', 'end'),
    ])
    // Every second one: more do not fit on a phone.
    for (let power = 0; power <= widest; power += 2) {
      const anchor = power === widest ? 'end' : 'middle'
      parts.push(
        text(
          [power === widest ? RIGHT : toX(10 ** power), toY(0) + 28],
          tickText(10 ** power),
          'small soft',
          anchor,
        ),
      )
    }
    for (const [i, { label, points }] of lines.entries()) {
      const path = points.map(([x, y]) => [toX(x), toY(y)])
      parts.push(`<polyline points="${path.map(String).join(' ')}" class="curve pen ${COLOURS[i]}"/>`)
      parts.push(...path.map(([x, y]) => MARKS[i](x, y, COLOURS[i])))
      const [x, y] = path.at(-1)
      parts.push(
        x < WIDTH / 2
          ? text([x + 14, y + 6], label, `strong paint ${COLOURS[i]}`)
          : text([x, y - 16], label, `strong paint ${COLOURS[i]}`, 'end'),
      )
    }
    return { parts, bottom: toY(0) + 44 }
  })
}
