// npm run bench: measures, and renders what was measured. README.md has the options.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { differences, filesOf, jsonOf, writeFiles } from './report/files.mjs'
import { textOf } from './report/text.mjs'
import { sectionsOf } from './sections.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    from: { type: 'string', multiple: true, default: [] },
    write: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    cores: { type: 'string', default: 'apart' },
  },
})
const say = (text) => process.stderr.write(text)

const run = options.from.length > 0 ? readRuns(options.from) : await measure()
if (options.json) writeFileSync(options.json, jsonOf(run))
if (options.check) check()
else if (options.write) for (const path of writeFiles(filesOf(run))) say(`wrote ${path}\n`)
else process.stdout.write(textOf(run))
const failed = Object.entries(run.sections).filter(([, { error }]) => error)
for (const [name, { error }] of failed) say(`section ${name} failed: ${error}\n`)
if (failed.length > 0) process.exitCode = 1

async function measure() {
  const names = sectionsOf(options.only.flatMap((one) => one.split(',')))
  // Only here, since a page can be made again without a build and without a Redis.
  const [{ describe }, { runSections }] = await Promise.all([
    import('./kit/machine.mjs'),
    import('./run.mjs'),
  ])
  const pace = options.quick ? 'quick' : 'full'
  const machine = await describe()
  const start = performance.now()
  const sections = await runSections(names, { pace, cores: options.cores, say })
  const seconds = Math.round((performance.now() - start) / 1000)
  const command = ['npm run bench', ...process.argv.slice(2).filter((arg) => arg !== '--write')]
  const date = new Date().toISOString().slice(0, 10)
  return { format: 1, date, command: commandOf(command), pace, seconds, machine, sections }
}

function commandOf([first, ...args]) {
  return args.length === 0 ? first : `${first} -- ${args.join(' ')}`
}

/** Several files, such as of runs of some sections each, count as one run: the later one has the last word. */
function readRuns(files) {
  const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')))
  const last = runs.at(-1)
  if (runs.length === 1) return last
  const sections = Object.assign({}, ...runs.map((one) => one.sections))
  const seconds = Object.values(sections).reduce((sum, one) => sum + one.seconds, 0)
  const pace = runs.some((one) => one.pace === 'quick') ? 'quick' : 'full'
  const command = 'npm run bench -- --only SECTION, one after another'
  return { ...last, command, pace, seconds: Math.round(seconds), sections }
}

/** Exits with 1 when the committed pages are not what the figures render. */
function check() {
  const different = differences(filesOf(run))
  for (const path of different)
    say(`${path} is not what the figures render: npm run bench -- --from FILE --write\n`)
  if (different.length > 0) process.exitCode = 1
}
