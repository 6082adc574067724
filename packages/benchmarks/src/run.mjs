// Runs sections one after another, each in a process of its own. One that fails says so, and the rest goes on.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A section that takes longer is ended, in ms. */
const LONGEST_MS = 120_000

/**
 * @param {string[]} names
 * @param {object} options
 * @param {'quick' | 'full'} options.pace
 * @param {string} options.cores
 * @param {(text: string) => void} options.say
 * @param {AbortSignal} options.stop ends the section that runs; the ones before it are returned
 * @returns {Promise<Record<string, { grids?: object, error?: string, seconds: number, placement?: string }>>}
 */
export async function runSections(names, { pace, cores, say, stop }) {
  const results = {}
  for (const name of names) {
    if (stop.aborted) break
    say(`${name} ... `)
    const start = performance.now()
    const result = await runSection(name, { pace, cores, stop })
    const seconds = Math.round((performance.now() - start) / 100) / 10
    if (stop.aborted && result.error) {
      say(`stopped after ${seconds} s\n`)
      break
    }
    say(result.error ? `failed after ${seconds} s\n` : `${seconds} s\n`)
    results[name] = { ...result, seconds }
  }
  return results
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
