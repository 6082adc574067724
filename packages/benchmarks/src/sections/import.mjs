// What it takes to load a package: the time of a process that does nothing else, beyond that of one that loads nothing,
// and what it loads. Nothing here depends on how a package is built: file by file, or as bundles.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderOf } from '../kit/machine.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import { median } from '../kit/statistics.mjs'
import * as names from '../names.mjs'

/** Where the packages are found. */
const cwd = fileURLToPath(new URL('../..', import.meta.url))
export const imported = (name) => ({ name, format: 'module', program: `await import('${name}')` })
export const required = (name) => ({ name, format: 'commonjs', program: `require('${name}')` })

const ROWS = new Map([
  [names.EXPRESS, imported('express-rate-limit')],
  [names.IMPORT_CORE, imported('@tollgate/core')],
  [names.REQUIRE_CORE, required('@tollgate/core')],
  [names.IMPORT_ADAPTER, imported('@tollgate/express')],
  [names.FLEXIBLE, imported('rate-limiter-flexible')],
  [names.FASTIFY, imported('@fastify/rate-limit')],
  [names.KOA, imported('koa-ratelimit')],
  [names.EXPRESS_AGAIN, imported('express-rate-limit')],
])
const NOTHING = '0'
/** Of which a cell has the median. */
const STARTS = 3
const SCRIPTS = ['.js', '.mjs', '.cjs']
/** Folders that some packages publish, and nobody loads. */
const ASIDE = /^(node_modules|tests?|examples?|benchmarks?)$/

export async function measure({ rounds, isQuick }) {
  const cell = async (_name, { format, program }) => {
    const times = Array.from({ length: STARTS }, () => {
      // Side by side, so that both meet the same machine.
      const bareMs = startMs(format, NOTHING)
      return startMs(format, program) - bareMs
    })
    return { ms: median(times) }
  }
  // This also fetches the files from the disk.
  const size = [...ROWS]
    .filter(([name]) => name !== names.EXPRESS_AGAIN)
    .map(([name, row]) => [name, sizesOf(row)])
  return { time: await takeTurns(ROWS, isQuick ? 3 : rounds + 2, cell), size: Object.fromEntries(size) }
}

/** Wall time of a process, from its start to its end. */
function startMs(format, program) {
  const start = performance.now()
  run(format, program)
  return performance.now() - start
}

function run(format, program) {
  const args = [`--input-type=${format}`, '--eval', program]
  // Or what this run was started with would be loaded, too.
  const env = { ...process.env, NODE_OPTIONS: '' }
  return execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8' })
}

/** @returns how many files are loaded, their kB, and the kB of all JavaScript that the package has in this format */
export function sizesOf({ name, format, program }) {
  const files = JSON.parse(run(format, listing(format, program))).map((url) => fileURLToPath(url))
  const folder = fileURLToPath(folderOf(name).folder)
  const entry = files.find((file) => file.startsWith(folder))
  // Where the entry is in a folder such as dist, so is all that is published.
  const [top] = relative(folder, entry).split(sep)
  const own = join(folder, top) === entry ? folder : join(folder, top)
  // Node never loads what is for browsers.
  const isForNode = (file) => formatOf(file) === formatOf(entry) && basename(file) !== 'browser.js'
  const shipped = scriptsIn(own).filter(isForNode)
  return { files: [files.length], loadedKb: [kbOf(files)], packageKb: [kbOf(shipped)] }
}

/** A program that writes the files which the engine compiled for another program, by the engine's own account. */
function listing(format, program) {
  return `const { Session } = ${format === 'module' ? 'await import' : 'require'}('node:inspector')
const session = new Session()
session.connect()
session.post('Debugger.enable')
const files = new Set()
session.on('Debugger.scriptParsed', ({ params: { url } }) => url.startsWith('file:') && files.add(url))
${program}
process.stdout.write(JSON.stringify([...files]))`
}

function scriptsIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ASIDE.test(entry.name) ? [] : scriptsIn(path)
    return SCRIPTS.includes(extname(path)) ? [path] : []
  })
}

/** As Node tells the formats apart: by the file's name, or by the package.json above it. */
function formatOf(file) {
  if (file.endsWith('.mjs')) return 'module'
  return file.endsWith('.cjs') ? 'commonjs' : typeAbove(dirname(file))
}

function typeAbove(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type ?? 'commonjs'
  } catch {
    return typeAbove(dirname(folder))
  }
}

const kbOf = (files) => files.reduce((sum, file) => sum + statSync(file).size, 0) / 1000
