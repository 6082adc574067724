// npm run bench: measures, and renders what was measured. README.md has the options.
import { writeFileSync } from 'node:fs'
import { commandOf, optionsOf, USAGE } from './options.mjs'
import { differences, filesOf, jsonOf, writeFiles } from './report/files.mjs'
import { noisyIn, publishedOf } from './report/words/noise.mjs'
import { readRuns } from './report/read.mjs'
import { textOf } from './report/words/text.mjs'
import { sectionsOf } from './sections.mjs'

const ONE_SIGNAL_MS = 1000
const say = (text) => process.stderr.write(text)
const { options, problem } = optionsOf(process.argv.slice(2))
const names = problem ? [] : namesOf(options.only)
if (problem) refuse(problem)
if (options.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}

const run = options.from.length > 0 ? readRuns(options.from) : await measure()
if (options.json) writeFileSync(options.json, jsonOf(run))
if (options.check) check()
else if (options.write && !run.stopped) for (const path of writeFiles(filesOf(run))) say(`wrote ${path}\n`)
else process.stdout.write(textOf(publishedOf(run)))
if (!options.check) sayNoise()
const failed = Object.entries(run.sections).filter(([, { error }]) => error)
for (const [name, { error }] of failed) say(`section ${name} failed: ${error}\n`)
if (run.stopped) {
  say(`stopped: ${Object.keys(run.sections).length} of ${names.length} sections are done\n`)
  if (options.write) say('--write: nothing was written, because the run is incomplete\n')
}
if (failed.length > 0 || run.stopped) process.exitCode = 1

function refuse(what) {
  say(`${what}\n\n${USAGE}`)
  process.exit(2)
}

function namesOf(only) {
  try {
    return sectionsOf(only.flatMap((one) => one.split(',')))
  } catch (error) {
    return refuse(error.message)
  }
}

async function measure() {
  // Only here, since a page can be made again without a build and without a Redis.
  const [{ describe }, { runSections }] = await Promise.all([
    import('./kit/machine.mjs'),
    import('./run.mjs'),
  ])
  const pace = options.quick ? 'quick' : 'full'
  const stop = stopSignal()
  const machine = await describe()
  const start = performance.now()
  const sections = await runSections(names, { pace, cores: options.cores, say, stop, noisyIn })
  const seconds = Math.round((performance.now() - start) / 1000)
  const date = new Date().toISOString().slice(0, 10)
  const run = { format: 1, date, command: commandOf(options), pace, seconds, machine, sections }
  return stop.aborted ? { ...run, stopped: true } : run
}

function sayNoise() {
  for (const [name, { grids }] of Object.entries(run.sections)) {
    const noisy = grids ? noisyIn(name, grids) : []
    if (noisy.length > 0) say(`section ${name}: left out as too noisy to judge: ${noisy.join(', ')}\n`)
  }
}

/**
 * The first signal ends the section that runs, and what is done is reported. A later one ends at once. Ctrl-C comes
 * twice, from the terminal and from the program that started this one, so signals close together count as one.
 */
function stopSignal() {
  const controller = new AbortController()
  let first = 0
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      if (controller.signal.aborted && performance.now() - first > ONE_SIGNAL_MS) process.exit(1)
      first ||= performance.now()
      controller.abort()
    })
  }
  return controller.signal
}

/** Exits with 1 when the committed pages are not what the figures render. */
function check() {
  const different = differences(filesOf(run))
  for (const path of different) say(`${path} is out of date: npm run bench -- --from FILE --write\n`)
  if (different.length > 0) process.exitCode = 1
}
