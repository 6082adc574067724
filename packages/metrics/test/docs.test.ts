import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { METRICS, ATTRIBUTES } from '../src/instruments.js'

const text = readFileSync(resolve(__dirname, '../../../docs/operations/metrics.md'), 'utf8')
const rows = [...text.matchAll(/^\| `(tollgate\.[\w.]+)` \| ([\w -]+) \| `([^`]+)` \|/gm)]
const TYPES = { counter: 'counter', gauge: 'observable up-down counter', histogram: 'histogram' }

test('docs/operations/metrics.md has every metric, with its type and unit, and no other', () => {
  const documented = rows.map(([, name, type, unit]) => [name, type, unit])
  const recorded = Object.values(METRICS).map(({ name, kind, unit }) => [name, TYPES[kind], unit])
  const byName = (a: unknown[], b: unknown[]): number => String(a[0]).localeCompare(String(b[0]))
  expect(documented.toSorted(byName)).toEqual(recorded.toSorted(byName))
})

test('docs/operations/metrics.md names every attribute', () => {
  for (const name of Object.values(ATTRIBUTES)) expect(text).toContain(`\`${name}\``)
})
