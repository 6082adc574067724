// Shared by npm test, npm start and npm run bench: named steps, dependencies, and pnpm without an installation.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders of the packages that are published, from the root. */
export const publishedFolders = readdirSync(join(root, 'packages'))
  .sort()
  .map((name) => `packages/${name}`)
  .filter((folder) => !JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).private)

const { devEngines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const pnpm = `pnpm@${devEngines.packageManager.version}`
const stamp = join(root, 'node_modules/.tollgate-installed')
const built = join(root, 'node_modules/.tollgate-built')
const windows = process.platform === 'win32'
const children = new Set()

/** Runs `work`, and prints its name, its duration and, if it failed, its output. Resolves to the exit code. */
export async function step(name, work) {
  const start = performance.now()
  process.stderr.write(`${name} ... `)
  const { code, output = '' } = await work()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  process.stderr.write(
    code === 0 ? `${seconds} s\n` : `failed after ${seconds} s\n${output}\nstep "${name}" failed\n`,
  )
  return code
}

/** Installs the dependencies, unless they were installed for this lock file before. */
export async function install() {
  if (isInstalled()) return { code: 0 }
  process.stderr.write('(downloads dependencies) ')
  const installed = await viaPnpm(['install', '--frozen-lockfile', '--config.confirmModulesPurge=false'], {
    quiet: true,
  })
  if (installed.code === 0) writeFileSync(stamp, fingerprint())
  return installed
}

/** Builds every package that has a build script. */
export const build = () => exec(['turbo', 'run', 'build', '--output-logs=errors-only'], { quiet: true })

/** Installs and builds what has changed, as programs of the workspace need. Ends this process if that fails. */
export async function prepare() {
  if (!isInstalled() && (await step('install', install)) !== 0) process.exit(1)
  if (isBuilt()) return
  if ((await step('build', build)) !== 0) process.exit(1)
  writeFileSync(built, stateOfPackages())
}

/** The options with which Node runs TypeScript of this workspace. */
export const withTypeScript = [
  '--import',
  pathToFileURL(join(root, 'packages/faults/src/typescript.mjs')).href,
]

/** Installs and builds what has changed, and ends this process as a program of the workspace does. The arguments go to it. */
export async function runProgram(program, nodeOptions = []) {
  await prepare()
  const args = [...nodeOptions, join(root, program), ...process.argv.slice(2)]
  const { code } = await run(process.execPath, args)
  process.exit(code)
}

/** Runs a tool of the workspace with pnpm on its PATH, which turbo needs. */
export const exec = (args, options) => viaPnpm(['exec', ...args], options)

/**
 * Runs a program in the root folder. Shows its output or, with `quiet`, collects it in `output`.
 *
 * @returns `{ code, output }`; the code is 128 + the signal's number if a signal ended the program
 */
export function run(command, args, { quiet = false, extraEnv = {}, group = false, shell = false } = {}) {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', ...extraEnv }
  const stdio = quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit'
  const child = spawn(command, args, { cwd: root, env, stdio, shell, detached: group })
  const target = { child, group }
  children.add(target)
  const output = []
  child.stdout?.on('data', (chunk) => output.push(chunk))
  child.stderr?.on('data', (chunk) => output.push(chunk))
  return new Promise((resolve) => {
    const settle = (code, text) => {
      children.delete(target)
      resolve({ code, output: text })
    }
    child.once('error', (error) => settle(1, error.message))
    child.once('close', (code, signal) => settle(code ?? exitCode(signal), Buffer.concat(output).toString()))
  })
}

/** Runs pnpm in the root folder. */
export function viaPnpm(args, options) {
  // npx and pnpm do not pass on every signal, so they get a process group that is signalled as a whole.
  return run('npx', ['-y', pnpm, ...args], { ...options, group: !windows, shell: windows })
}

function fingerprint() {
  const lock = readFileSync(join(root, 'pnpm-lock.yaml'))
  return createHash('sha256').update(lock).update(`${pnpm} ${process.platform} ${process.arch}`).digest('hex')
}

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint()

const isBuilt = () => existsSync(built) && readFileSync(built, 'utf8') === stateOfPackages()

/** The names, sizes and times of all files that packages are built from, and of what was built. */
function stateOfPackages() {
  const hash = createHash('sha256').update(fingerprint())
  const parts = ['src', 'page', 'scripts', 'dist', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
  const packages = readdirSync(join(root, 'packages'))
    .filter((name) => hasBuild(name))
    .flatMap((name) => parts.map((part) => `packages/${name}/${part}`))
  for (const part of ['tools', 'tsconfig.base.json', 'turbo.json', ...packages]) {
    for (const file of filesOf(join(root, part))) {
      const { size, mtimeMs } = statSync(file)
      hash.update(`${file} ${size} ${mtimeMs}\n`)
    }
  }
  return hash.digest('hex')
}

function hasBuild(name) {
  const manifest = join(root, 'packages', name, 'package.json')
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).scripts?.build !== undefined
}

/** The path itself, or everything in the folder; nothing if there is no such path. */
function filesOf(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  const names = readdirSync(path, { recursive: true })
  return names.map((name) => join(path, name)).toSorted()
}

const exitCode = (signal) => 128 + constants.signals[signal]
const STOPS_WITHIN_MS = 5000

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopChildren(signal)
    // No further step may begin, even if a child ignores the signal. The demo gets a moment to close.
    if (children.size === 0) process.exit(exitCode(signal))
    setTimeout(() => stopChildren('SIGKILL'), STOPS_WITHIN_MS).unref()
  })
}

/** Signals all programs that `run` has started and that still run. */
export function stopChildren(signal) {
  for (const { child, group } of children) {
    try {
      process.kill(group ? -child.pid : child.pid, signal)
    } catch {
      // The process has ended meanwhile.
    }
  }
}
