// Runs sections one after another, each in a process of its own. One that fails says so, and the rest goes on.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A section that takes longer is ended, in ms. */
const LONGEST_MS = 180_000
/** How often a section is measured at most. */
const MOST_TRIES = 3
/** No repeat begins once the repeats of a run have taken this long, in ms. */
const REPEATS_MS = { quick: 120_000, full: 600_000 }

/**
 * @typedef {object} Result
 * @property {object} [grids]
 * @property {string} [error]
 * @property {number} seconds
 * @property {string} [placement]
 * @property {number} [tries] how often it was measured, if more than once
 */

/**
 * Measures all sections. Then it repeats those with tables that are too noisy to judge, until none is left or the repeats
 * reach their bounds.
 *
 * @param {string[]} names
 * @param {object} options
 * @param {'quick' | 'full'} options.pace
 * @param {string} options.cores
 * @param {(text: string) => void} options.say
 * @param {AbortSignal} options.stop ends the section that runs; the ones before it are returned
 * @param {(name: string, grids: object) => string[]} [options.noisyIn] the grids of a section that are too noisy to judge
 * @returns {Promise<Record<string, Result>>}
 */
export async function runSections(names, { pace, cores, say, stop, noisyIn = () => [] }) {
  const results = {}
  const measure = async (name, what = name) => {
    say(`${what} ... `)
    const start = performance.now()
    const result = await runSection(name, { pace, cores, stop })
    const seconds = Math.round((performance.now() - start) / 100) / 10
    if (stop.aborted && result.error) {
      say(`stopped after ${seconds} s\n`)
      return undefined
    }
    say(result.error ? `failed after ${seconds} s\n` : `${seconds} s\n`)
    return { ...result, seconds }
  }
  for (const name of names) {
    const result = stop.aborted ? undefined : await measure(name)
    if (!result) return results
    results[name] = result
  }
  const again = (name, noisy) => measure(name, `${name} again, since it is too noisy (${noisy.join(', ')})`)
  await repeatNoisy(results, again, { noisyIn, mostMs: REPEATS_MS[pace], stop })
  return results
}

/**
 * Replaces the grids that are too noisy to judge by those of a repeat. It goes through all sections before it repeats one
 * for the second time, since what else the machine does lasts for a while.
 *
 * @param {Record<string, Result>} results changed in place
 * @param {(name: string, noisy: string[]) => Promise<Result | undefined>} measure resolves to undefined if it was stopped
 */
export async function repeatNoisy(results, measure, { noisyIn, mostMs, stop }) {
  const until = performance.now() + mostMs
  for (let tries = 2; tries <= MOST_TRIES; tries += 1) {
    for (const [name, result] of Object.entries(results)) {
      const noisy = result.error ? [] : noisyIn(name, result.grids)
      if (noisy.length === 0) continue
      if (stop.aborted || performance.now() >= until) return
      const again = await measure(name, noisy)
      if (!again) return
      // A repeat that failed leaves what was measured before.
      const newer = noisy.filter((grid) => again.grids?.[grid]).map((grid) => [grid, again.grids[grid]])
      const grids = { ...result.grids, ...Object.fromEntries(newer) }
      results[name] = { ...result, grids, seconds: result.seconds + again.seconds, tries }
    }
  }
}

function runSection(name, { pace, cores, stop }) {
  const path = fileURLToPath(new URL('section.mjs', import.meta.url))
  const child = fork(path, [name, pace, cores], {
    execArgv: [...process.execArgv, '--expose-gc'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const end = () => child.kill()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, LONGEST_MS)
  process.once('exit', end)
  if (stop.aborted) end()
  else stop.addEventListener('abort', end)
  return new Promise((resolve) => {
    let result
    child.once('message', ({ grids, placement }) => (result = { placement, grids: rounded(grids) }))
    child.once('close', (code) => {
      clearTimeout(timer)
      process.off('exit', end)
      stop.removeEventListener('abort', end)
      const reason = isLate ? `ended after ${LONGEST_MS / 1000} s` : reasonIn(errors)
      resolve(result ?? { error: reason || `ended with ${code}` })
    })
  })
}

/** One line of what a process wrote before it ended: its error, and not where that was thrown. */
function reasonIn(errors) {
  const lines = errors.trim().split('\n')
  return lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1)
}

/** Four digits say more than any of the figures can, and keep the file small. */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toPrecision(4))
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]))
}
