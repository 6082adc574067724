import { signsIn, widthOf } from './safe-text.js'

/** How a text stands out on a terminal. What it says never depends on that. */
export type Style = 'strong' | 'faint' | 'good' | 'bad' | 'odd'

export type Paint = (style: Style, text: string) => string

export interface Column {
  readonly title: string
  /** Numbers stand on the right. */
  readonly align?: 'right'
  /** What happens if the terminal is too narrow: `cut` in the middle for ids, `wrap` for sentences. Others keep their width. */
  readonly narrow?: 'cut' | 'wrap'
}

export type Cell = string | { readonly text: string; readonly style: Style }

const GAP = '  '
/** A column that gives way keeps this width. */
const NARROWEST = 12

/**
 * Aligned text: a line of titles, and one or more lines for each row.
 *
 * @param rows  cells whose texts were made safe
 * @param width of the terminal; undefined in a pipe, where nothing is cut
 */
export function tableOf(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paint }: { readonly width: number | undefined; readonly paint: Paint },
): string[] {
  // A column that has nothing in any row would only take room.
  const used = columns.map((_, i) => rows.some((row) => textOf(row[i]) !== ''))
  const shown = columns.filter((_, i) => used[i])
  const cells = rows.map((row) => row.filter((_, i) => used[i]))
  const widths = fit(shown, cells, width)
  const title = shown.map(({ title: text }): Cell => ({ text, style: 'faint' }))
  return [title, ...cells].flatMap((row) => linesOf(row, shown, { widths, paint }))
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'string' ? cell : (cell?.text ?? '')
}

/** The width of each column. Where there is too little room, the widest columns that can give way do so first. */
function fit(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number | undefined,
): number[] {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => widthOf(textOf(row[i])))),
  )
  if (width === undefined) return widths
  const sum = (): number => widths.reduce((all, one) => all + one, GAP.length * (columns.length - 1))
  while (sum() > width) {
    const can = widths.map((one, i) => (columns[i]?.narrow && one > NARROWEST ? one : 0))
    const widest = Math.max(...can)
    if (widest === 0) break
    widths[can.indexOf(widest)] = widest - 1
  }
  return widths
}

function linesOf(
  row: readonly Cell[],
  columns: readonly Column[],
  { widths, paint }: { readonly widths: readonly number[]; readonly paint: Paint },
): string[] {
  const parts = columns.map(({ narrow }, i) => linesIn(textOf(row[i]), widths[i] as number, narrow))
  const height = Math.max(...parts.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) => {
    const cells = columns.map(({ align }, i) => {
      const text = parts[i]?.[line] ?? ''
      const cell = row[i]
      const painted = typeof cell === 'object' ? paint(cell.style, text) : text
      const space = ' '.repeat(Math.max(0, (widths[i] as number) - widthOf(text)))
      return align === 'right' ? space + painted : painted + space
    })
    return cells.join(GAP).trimEnd()
  })
}

function linesIn(text: string, width: number, narrow: Column['narrow']): string[] {
  if (widthOf(text) <= width || !narrow) return [text]
  return narrow === 'wrap' ? wrapped(text, width) : [cut(text, width)]
}

/** Cuts a text in the middle. Wide characters take two columns each. */
function cut(text: string, width: number): string {
  const signs = signsIn(text)
  for (let kept = Math.min(width - 1, signs.length - 1); kept > 0; kept -= 1) {
    const begin = Math.ceil(kept / 2)
    const one = `${signs.slice(0, begin).join('')}…${signs.slice(signs.length - kept + begin).join('')}`
    if (widthOf(one) <= width) return one
  }
  return '…'
}

/** Breaks a text between words, and a word that is longer than a line within. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap((one) => piecesOf(one, width))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width || line === '') line = longer
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

function piecesOf(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word]
  const pieces: string[] = ['']
  for (const sign of word) {
    const last = pieces.at(-1) as string
    if (widthOf(last + sign) > width) pieces.push(sign)
    else pieces[pieces.length - 1] = last + sign
  }
  return pieces
}
