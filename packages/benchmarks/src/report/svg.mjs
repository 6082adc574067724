// A small writer of SVG charts: bars in groups with quartiles, and lines. Readable on a light and on a dark page.

import { digits } from './figures.mjs'

const WIDTH = 900
const LABELS = 370
const RIGHT = 75
const PLOT = WIDTH - LABELS - RIGHT
const TOP = 74
const BAR = 13

const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 } .small { font-size: 12px; fill: #57606a } .ours { font-weight: 600 }
  .back { fill: #ffffff } .grid { stroke: #d8dee4 } .mark { stroke: #57606a; stroke-dasharray: 4 3 } .quartiles { stroke: #1f2328 }
  .c0 { fill: #1f6feb; stroke: #1f6feb } .c1 { fill: #d4700f; stroke: #d4700f } .c2 { fill: #1a7f37; stroke: #1a7f37 }
  .value { font-size: 12px }
  .other { opacity: .5 } .line { fill: none; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9da7b1 } .back { fill: #0d1117 } .grid { stroke: #30363d }
    .mark { stroke: #9da7b1 } .quartiles { stroke: #e6edf3 }
    .c0 { fill: #58a6ff; stroke: #58a6ff } .c1 { fill: #f0883e; stroke: #f0883e } .c2 { fill: #3fb950; stroke: #3fb950 }
  }`

const escape = (text) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
const at = (value) => Number(value.toFixed(1))
const text = (x, y, content, { kind = '', anchor = 'start' } = {}) =>
  `<text x="${at(x)}" y="${at(y)}" class="${kind}" text-anchor="${anchor}">${escape(content)}</text>`
const line = ([x1, y1], [x2, y2], kind) =>
  `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${kind}"/>`

function page(height, title, note, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="${WIDTH}" height="${height}" class="back" stroke="none"/>`,
    text(16, 28, title, { kind: 'title' }),
    text(16, 48, note, { kind: 'small' }),
    ...parts,
    '</svg>\n',
  ].join('\n')
}

/** Steps of 1, 2 or 5 times a power of ten, so that 4 to 9 of them reach `most`; fewer where their texts are long. */
function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(most))
  const steps = power >= 1e6 ? 5 : 8
  const step = [0.1, 0.2, 0.5, 1, 2].map((one) => one * power).find((one) => most / one <= steps)
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step)
}

/** As on the page, without zeros at the end. */
const tickText = (tick) => (tick >= 1000 ? digits(tick) : String(+digits(tick)))

function legend(series) {
  if (series.length < 2) return []
  let x = LABELS
  return series.flatMap((name, i) => {
    const parts = [
      `<rect x="${x}" y="57" width="11" height="11" class="c${i}"/>`,
      text(x + 16, 67, name, { kind: 'small' }),
    ]
    x += 34 + 7 * name.length
    return parts
  })
}

/**
 * Horizontal bars, one for each series in every row, with a line from quartile to quartile.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string} chart.note   under the title
 * @param {string} chart.unit   of the axis
 * @param {string[]} chart.series
 * @param {{ label: string, isOurs: boolean, values: ({ low: number, middle: number, high: number } | undefined)[] }[]} chart.rows
 * @param {number} [chart.mark] where a line is drawn: the reference
 * @returns {string} SVG
 */
export function barChart({ title, note, unit, series, rows, mark }) {
  const rowHeight = series.length * BAR + 12
  const bottom = TOP + rows.length * rowHeight
  const most = Math.max(mark ?? 0, ...rows.flatMap(({ values }) => values.map((value) => value?.high ?? 0)))
  const ticks = ticksTo(most)
  const scale = (value) => LABELS + (value / ticks.at(-1)) * PLOT
  const parts = ticks.flatMap((tick) => [
    line([scale(tick), TOP], [scale(tick), bottom], 'grid'),
    text(scale(tick), bottom + 17, tickText(tick), { kind: 'small', anchor: 'middle' }),
  ])
  const medians = []
  for (const [i, { label, isOurs, values }] of rows.entries()) {
    const y = TOP + i * rowHeight + 6
    parts.push(
      text(LABELS - 10, y + (series.length * BAR) / 2 + 4, label, {
        kind: isOurs ? 'ours' : '',
        anchor: 'end',
      }),
    )
    for (const [j, value] of values.entries()) {
      if (!value) continue
      parts.push(...bar(value, { j, y: y + j * BAR, scale, isOurs }))
      medians.push(...medianText(value, { y: y + j * BAR, scale }))
    }
  }
  if (mark) parts.push(line([scale(mark), TOP], [scale(mark), bottom], 'mark'))
  // Last, so that no line crosses them.
  parts.push(...medians)
  parts.push(text(LABELS + PLOT / 2, bottom + 38, unit, { kind: 'small', anchor: 'middle' }))
  return page(bottom + 50, title, note, [...legend(series), ...parts])
}

function bar({ low, middle, high }, { j, y, scale, isOurs }) {
  const [from, to] = [scale(0), scale(middle)]
  const kind = `c${j}${isOurs ? '' : ' other'}`
  const center = y + BAR / 2 - 1
  return [
    `<rect x="${at(from)}" y="${at(y)}" width="${at(Math.max(to - from, 1))}" height="${BAR - 2}" stroke="none" class="${kind}"/>`,
    line([scale(low), center], [scale(high), center], 'quartiles'),
  ]
}

const DIGIT = 7

/** Beside the end of the bar; behind the line of the quartiles only where that is so short that it would be hidden. */
function medianText({ middle, high }, { y, scale }) {
  const content = digits(middle)
  const width = content.length * DIGIT + 6
  const isShort = scale(high) - scale(middle) < width + 6
  const x = scale(isShort ? high : middle) + 3
  return [
    // Lines that cross end before the digits.
    `<rect x="${at(x)}" y="${at(y)}" width="${width}" height="${BAR - 2}" stroke="none" class="back"/>`,
    text(x + 3, y + BAR - 3, content, { kind: 'value' }),
  ]
}

const LINE_HEIGHT = 260

/**
 * Lines over an axis of powers of ten.
 *
 * @param {object} chart
 * @param {string} chart.title
 * @param {string} chart.note
 * @param {string} chart.unit     of the horizontal axis
 * @param {string} chart.sideUnit of the vertical axis
 * @param {{ label: string, points: [x: number, y: number][] }[]} chart.lines
 * @returns {string} SVG
 */
export function lineChart({ title, note, unit, sideUnit, lines }) {
  const [left, right] = [70, WIDTH - 40]
  const bottom = TOP + LINE_HEIGHT
  const all = lines.flatMap(({ points }) => points)
  const widest = Math.ceil(Math.log10(Math.max(...all.map(([x]) => x))))
  const ticks = ticksTo(Math.max(...all.map(([, y]) => y)))
  const toX = (x) => left + (Math.log10(x) / widest) * (right - left)
  const toY = (y) => bottom - (y / ticks.at(-1)) * LINE_HEIGHT
  const parts = [text(16, TOP - 8, sideUnit, { kind: 'small' })]
  for (const tick of ticks) {
    parts.push(line([left, toY(tick)], [right, toY(tick)], 'grid'))
    parts.push(text(left - 8, toY(tick) + 4, tickText(tick), { kind: 'small', anchor: 'end' }))
  }
  for (let power = 0; power <= widest; power += 1) {
    parts.push(
      text(toX(10 ** power), bottom + 17, tickText(10 ** power), {
        kind: 'small',
        anchor: 'middle',
      }),
    )
  }
  for (const [i, { points }] of lines.entries()) {
    const path = points.map(([x, y]) => `${at(toX(x))},${at(toY(y))}`)
    parts.push(`<polyline points="${path.join(' ')}" class="c${i} line" style="fill: none"/>`)
    for (const point of path)
      parts.push(`<circle cx="${point.replace(',', '" cy="')}" r="3.5" class="c${i}"/>`)
  }
  parts.push(text((left + right) / 2, bottom + 38, unit, { kind: 'small', anchor: 'middle' }))
  return page(bottom + 50, title, note, [...legend(lines.map(({ label }) => label)), ...parts])
}
