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

test('the alerts on the page use names that exist in Prometheus', () => {
  const names = Object.values(METRICS).map(({ name }) => name.replaceAll('.', '_'))
  const labels = Object.values(ATTRIBUTES).map((name) => name.replaceAll('.', '_'))
  const known = [...names, ...names.map((name) => `${name}_total`), ...labels, 'tollgate']
  const [yaml = ''] = /```yaml\n[\s\S]*?```/.exec(text) ?? []
  const used = [...yaml.matchAll(/\b(?:tollgate|error)_\w+/g)].map(([name]) => name)
  expect(used.length).toBeGreaterThan(10)
  for (const name of used) expect(known).toContain(name)
})
