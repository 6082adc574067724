// npm run simulate: simulates a fleet of processes with and without leases, and renders docs/operations/leases-at-scale.md.
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { differences, jsonOf, writeFiles } from '../report/files.mjs'
import { publishedOf } from '../report/words/noise.mjs'
import { PATHS, scalePage } from './page.mjs'

const USAGE = `npm run simulate -- [options]
  --seconds N   simulated seconds (default 10)
  --seed N      repeats the same requests and crashes (default 1)
  --write       writes the figures and the page
  --render      only renders the page from the committed figures, without simulating
  --check       only checks that the committed page matches the committed figures
`
const options = optionsOf()
const say = (text) => process.stdout.write(text)
const read = (path) => JSON.parse(readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8'))

if (options.check || options.render) {
  const page = { [PATHS.page]: scalePage(publishedOf(read(PATHS.results)), read(PATHS.simulation)) }
  if (options.render) writeFiles(page)
  const different = differences(page)
  for (const path of different) say(`${path} is out of date: npm run simulate -- --render\n`)
  process.exitCode = different.length > 0 ? 1 : 0
} else await run()

async function run() {
  // Only here, since a page can be made again without a build.
  const { scenarios, simulateAll } = await import('./scenarios.mjs')
  const figures = await simulateAll(scenarios({ seconds: options.seconds, seed: options.seed }), say)
  const root = new URL('../../../../', import.meta.url)
  if (!options.write || !existsSync(new URL(PATHS.results, root))) return
  const page = scalePage(publishedOf(read(PATHS.results)), figures)
  for (const path of writeFiles({ [PATHS.simulation]: jsonOf(figures), [PATHS.page]: page }))
    say(`wrote ${path}\n`)
}

function optionsOf() {
  try {
    const { values } = parseArgs({
      options: {
        ...{ seconds: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
        ...{ write: { type: 'boolean' }, render: { type: 'boolean' }, check: { type: 'boolean' } },
      },
    })
    const numbers = { seconds: Number(values.seconds), seed: Number(values.seed) }
    if (!(numbers.seconds > 0) || !Number.isInteger(numbers.seed))
      throw new Error('--seconds and --seed are numbers')
    return { ...values, ...numbers }
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`)
    return process.exit(2)
  }
}
