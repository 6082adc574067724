// Reads the figures of earlier runs.
import { readFileSync } from 'node:fs'

/**
 * Several files, such as of runs of some sections each, count as one run: the later one has the last word. The result
 * has the commands of all and the machine of the last, and each section keeps the pace and the processor that it was
 * measured at.
 *
 * @param {string[]} files
 */
export function readRuns(files) {
  const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')))
  const last = runs.at(-1)
  if (runs.length === 1) return last
  const sections = Object.assign({}, ...runs.map(pacedSections))
  const seconds = Object.values(sections).reduce((sum, one) => sum + one.seconds, 0)
  const commands = [...new Set(runs.flatMap(commandsOf))]
  const pace = runs.some((one) => one.pace === 'quick') ? 'quick' : 'full'
  const { command: _, ...others } = last
  return { ...others, commands, pace, seconds: Math.round(seconds), sections }
}

/** @returns the commands that measured a run; more than one if it was joined from several */
export const commandsOf = ({ command, commands }) => commands ?? [command]

function pacedSections({ pace, machine: { cpu }, sections }) {
  return Object.fromEntries(Object.entries(sections).map(([name, one]) => [name, { pace, cpu, ...one }]))
}

/** @returns the names of the sections that were measured on other machines than the run's own, by the processor */
export function sectionsElsewhere({ machine, sections }) {
  const elsewhere = {}
  for (const [name, { cpu = machine.cpu }] of Object.entries(sections))
    if (cpu !== machine.cpu) (elsewhere[cpu] ??= []).push(name)
  return elsewhere
}

/** @returns the names of the sections that were measured by `--quick` */
export function quickSections({ pace, sections }) {
  return Object.keys(sections).filter((name) => (sections[name].pace ?? pace) === 'quick')
}
