import { safeText, widthOf } from '../src/output/safe-text.js'
import { tableOf, type Paint } from '../src/output/table.js'
import { endInWords, lengthInWords, quotaInWords, shellWord, timeInWords } from '../src/output/words.js'

const plain: Paint = (_, text) => text

describe('texts of others', () => {
  test.each([
    ['acme', 'acme'],
    ['\u001b[2Jgone', String.raw`\x1b[2Jgone`],
    ['two\nlines\r\t', String.raw`two\nlines\r\t`],
    ['\u009b31m', String.raw`\x9b31m`],
    ['abc\u202edcba', String.raw`abc\u202edcba`],
    ['zero\u200bwidth', String.raw`zero\u200bwidth`],
    ['tag\u{e0041}', String.raw`tag\u{e0041}`],
    ['half \ud83d', String.raw`half \ud83d`],
    [String.raw`\x1b`, String.raw`\\x1b`],
    ['<b>&', '<b>&'],
    ['Zoë 日本', 'Zoë 日本'],
  ])('%j is shown as %s', (given, shown) => {
    expect(safeText(given)).toBe(shown)
  })

  test('a long one is cut in the middle', () => {
    expect(safeText(`begin${'x'.repeat(100)}end`, 11)).toBe('begin…xxend')
    expect(safeText('exactly ten', 11)).toBe('exactly ten')
  })

  test('a megabyte is shown as its ends', () => {
    const shown = safeText(`head${'\u001b'.repeat(1_000_000)}tail`, 20)
    expect(shown).toMatch(/^head\\x1b.*…/)
    expect(shown.endsWith('tail')).toBe(true)
    expect(shown).toHaveLength(20)
  })

  test('marks do not pile up', () => {
    expect(safeText(`a${'\u0301'.repeat(9)}`)).toContain(String.raw`\u0301`)
  })
})

describe('a table', () => {
  const columns = [
    { title: 'ID', narrow: 'cut' },
    { title: 'USED', align: 'right' },
    { title: 'NOTE', narrow: 'wrap' },
    { title: 'EMPTY' },
  ] as const
  const rows = [
    ['acme', '1', 'short', ''],
    ['日本', '12,345', 'a sentence of some words', ''],
    ['x'.repeat(40), '7', '', ''],
  ]

  test('is aligned in a pipe, cuts nothing, and has no column without values', () => {
    expect(tableOf(columns, rows, { width: undefined, paint: plain })).toEqual([
      `ID${' '.repeat(38)}    USED  NOTE`,
      `acme${' '.repeat(36)}       1  short`,
      `日本${' '.repeat(36)}  12,345  a sentence of some words`,
      `${'x'.repeat(40)}       7`,
    ])
  })

  test.each([40, 50, 60, 80])('fits into %i columns, with all words', (width) => {
    const lines = tableOf(columns, rows, { width, paint: plain })
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width)
    const text = lines.join(' ').replace(/\s+/g, ' ')
    for (const word of ['acme', '12,345', 'sentence', 'words']) expect(text).toContain(word)
    // The numbers end in one column.
    const ends = lines
      .filter((line) => /\d/.test(line))
      .map((line) => widthOf(/^.*?\d(?=\s|$)/.exec(line)?.[0] ?? ''))
    expect(new Set(ends).size).toBe(1)
  })

  test('cuts ids in the middle, so both ends can be seen', () => {
    const [, row = ''] = tableOf([{ title: 'ID', narrow: 'cut' }], [[`begin${'x'.repeat(50)}end`]], {
      width: 20,
      paint: plain,
    })
    expect(row).toMatch(/^beginx+…x+end$/)
    expect(row).toHaveLength(20)
  })

  test('wraps a word that is longer than a line', () => {
    const lines = tableOf([{ title: 'A', narrow: 'wrap' }], [['y'.repeat(30)]], { width: 12, paint: plain })
    expect(lines.slice(1).join('')).toBe('y'.repeat(30))
    expect(lines).toHaveLength(4)
  })

  test('colors do not count as width', () => {
    const paint: Paint = (style, text) => `<${style}>${text}</>`
    const lines = tableOf([{ title: 'A' }, { title: 'B' }], [[{ text: 'x', style: 'bad' }, 'y']], {
      width: 80,
      paint,
    })
    expect(lines[1]).toBe('<bad>x</>  y')
  })
})

describe('words', () => {
  test.each([
    [0, '0 ms'],
    [250, '250 ms'],
    [59_999.9, '1 min'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [3_629_000, '1 h'],
    [90_000_000, '1 d 1 h'],
    [86_400_000 + 60_000, '1 d'],
    [30 * 86_400_000, '30 d'],
  ])('%d ms is %s', (ms, words) => {
    expect(lengthInWords(ms)).toBe(words)
  })

  test('a time has its zone, and a year if it is another', () => {
    const now = Date.parse('2026-11-28T14:00:00Z')
    expect(timeInWords(new Date('2026-11-28T15:00:00Z'), now)).toBe('Sat 28 Nov 15:00 UTC')
    expect(timeInWords(new Date('2027-01-31T18:00:05Z'), now)).toBe('Sun 31 Jan 2027 18:00:05 UTC')
    expect(endInWords(new Date('2026-11-28T15:30:00Z'), now)).toBe('Sat 28 Nov 15:30 UTC (1 h 30 min)')
  })

  test('a quota has its window', () => {
    expect(quotaInWords(50_000, 2_592_000_000)).toBe('50,000 per month')
    expect(quotaInWords(10, 900_000)).toBe('10 per 15 min')
    expect(quotaInWords(5, 0)).toBe('5 at a time')
  })

  test.each([
    ['acme', 'acme'],
    ['trial-*', `'trial-*'`],
    ["it's", `'it'\\''s'`],
    ['a\u001bb', String.raw`$'a\x1bb'`],
    ['', `''`],
  ])('the shell reads %j from %s', (given, word) => {
    expect(shellWord(given)).toBe(word)
  })
})
