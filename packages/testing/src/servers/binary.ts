import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** The parts of the machine that matter for finding a server; tests pass their own. */
export interface Machine {
  readonly path: string
  readonly isRoot: boolean
  readonly hasApt: boolean
  /** Installs a Debian package. Returns what it printed. */
  install(name: string): string
}

/** A server that tests start. */
export interface ServerProgram {
  /** What it can be called on the PATH; the first is also its Debian package. */
  readonly names: readonly [string, ...string[]]
  /** What to do where there is none, for the error. */
  readonly remedy: string
}

const APT_FOLDER = '/usr/bin'
const LOCK = join(tmpdir(), 'tollgate-apt.lock')

export const thisMachine: Machine = {
  path: process.env['PATH'] ?? '',
  isRoot: process.getuid?.() === 0,
  hasApt: existsSync('/usr/bin/apt-get'),
  install: installWithApt,
}

/**
 * The path of a server that tests can start: one on the PATH, else, as root on Debian or Ubuntu, one that gets installed
 * now.
 *
 * @throws when there is none; the message says how to get one
 */
export function findBinary({ names, remedy }: ServerProgram, machine: Machine = thisMachine): string {
  const found = onPath(names, machine.path)
  if (found) return found
  if (!machine.isRoot || !machine.hasApt) throw new Error(remedy)
  const there = onPath(names, APT_FOLDER)
  if (there) return there
  const printed = machine.install(names[0])
  const installed = onPath(names, APT_FOLDER)
  if (installed) return installed
  throw new Error(`Installing ${names[0]} failed.\n${printed.trim()}\n${remedy}`)
}

function onPath(names: readonly string[], path: string): string | undefined {
  const candidates = path.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
  return candidates.find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Several test files may want a package at the same time: apt-get would refuse all but one of them. */
function installWithApt(name: string): string {
  process.stdout.write(`No ${name} on the PATH: installing it with apt-get.\n`)
  // RUNLEVEL=1 keeps the package from starting a service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const options = '-y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3'
  const install = `test -x ${APT_FOLDER}/${name} || { apt-get update -qq; apt-get install ${options} ${name}; }`
  const { stdout, stderr, error } = spawnSync('flock', [LOCK, 'sh', '-c', install], { encoding: 'utf8', env })
  return error?.message ?? stdout + stderr
}
