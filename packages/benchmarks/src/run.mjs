// Runs sections one after another, each in a process of its own. One that fails says so, and the rest goes on.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A section that takes longer is ended, in ms. */
const LONGEST_MS = 120_000
const LAST_LINES = 12

/**
 * @param {string[]} names
 * @param {{ pace: 'quick' | 'full', cores: string, say: (text: string) => void }} options
 * @returns {Promise<Record<string, { grids?: object, error?: string, seconds: number, placement?: string }>>}
 */
export async function runSections(names, { pace, cores, say }) {
  const results = {}
  for (const name of names) {
    say(`${name} ... `)
    const start = performance.now()
    const result = await runSection(name, pace, cores)
    const seconds = Math.round((performance.now() - start) / 100) / 10
    say(result.error ? `failed after ${seconds} s\n${result.error}\n` : `${seconds} s\n`)
    results[name] = { ...result, seconds }
  }
  return results
}

function runSection(name, pace, cores) {
  const path = fileURLToPath(new URL('section.mjs', import.meta.url))
  const child = fork(path, [name, pace, cores], {
    execArgv: [...process.execArgv, '--expose-gc'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const end = () => child.kill()
  const timer = setTimeout(() => {
    errors += `\nended after ${LONGEST_MS / 1000} s`
    end()
  }, LONGEST_MS)
  process.once('exit', end)
  return new Promise((resolve) => {
    let result
    child.once('message', ({ grids, placement }) => (result = { placement, grids: rounded(grids) }))
    child.once('close', (code) => {
      clearTimeout(timer)
      process.off('exit', end)
      const lines = errors.trim().split('\n').slice(-LAST_LINES).join('\n')
      resolve(result ?? { error: `ended with ${code}: ${lines}` })
    })
  })
}

/** Four digits say more than any of the figures can, and keep the file small. */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toPrecision(4))
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]))
}
