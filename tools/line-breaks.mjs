// Breaks lines of code that has a source map, and moves the map along.

/**
 * @param starts where lines shall begin, ascending
 * @returns the code and its map, as plugins of bundlers return them
 */
export function withBreaks(code, map, starts) {
  const ends = [...starts, code.length]
  const broken = [0, ...starts].map((start, i) => code.slice(start, ends[i])).join('\n')
  return { code: broken, map: { ...map, mappings: moved(map.mappings, columnsByLine(code, starts)) } }
}

/** For each line of the code the columns at which it is broken. */
function columnsByLine(code, starts) {
  const lines = [[]]
  let [from, end] = [0, code.indexOf('\n')]
  for (const start of starts) {
    while (end !== -1 && end < start) {
      lines.push([])
      from = end + 1
      end = code.indexOf('\n', from)
    }
    lines.at(-1).push(start - from)
  }
  return lines
}

/** Mappings have `;` between lines and `,` between the segments of a line, each of which begins with its column. */
function moved(mappings, columns) {
  return mappings
    .split(';')
    .map((line, i) => movedLine(line === '' ? [] : line.split(','), columns[i] ?? []))
    .join(';')
}

function movedLine(segments, breaks) {
  const lines = [[]]
  let [column, last] = [0, 0]
  for (const segment of segments) {
    const [delta, rest] = columnOf(segment)
    column += delta
    while (breaks[lines.length - 1] <= column) {
      last = breaks[lines.length - 1]
      lines.push([])
    }
    lines.at(-1).push(encoded(column - last) + rest)
    last = column
  }
  while (lines.length <= breaks.length) lines.push([])
  return lines.map((line) => line.join(',')).join(';')
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Of six bits: more digits follow. */
const MORE = 32

/** How far a segment's column is behind that of the segment before, and the rest of the segment. */
function columnOf(segment) {
  let [value, at, digit] = [0, 0, MORE]
  while (digit & MORE) {
    digit = DIGITS.indexOf(segment[at])
    value += (digit % MORE) * MORE ** at
    at += 1
  }
  // The lowest bit is the sign, and columns of a line ascend.
  if (value % 2 === 1) throw new Error(`the column of ${segment} is before the last one`)
  return [value / 2, segment.slice(at)]
}

function encoded(column) {
  let [rest, text] = [column * 2, '']
  do {
    const digit = rest % MORE
    rest = (rest - digit) / MORE
    text += DIGITS[rest > 0 ? digit + MORE : digit]
  } while (rest > 0)
  return text
}
