import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The parts of the machine that matter for finding a server; tests pass their own. */
export interface Machine {
  readonly path: string
  readonly isRoot: boolean
  readonly hasApt: boolean
  install(): void
}

const NAMES = ['redis-server', 'valkey-server']
const APT_FOLDER = '/usr/bin'

const thisMachine: Machine = {
  path: process.env['PATH'] ?? '',
  isRoot: process.getuid?.() === 0,
  hasApt: existsSync('/usr/bin/apt-get'),
  install: installWithApt,
}

export const NO_REDIS = [
  'The tests need a real Redis, and there is none here. Any of these will do:',
  '  - set REDIS_URL to one that the tests may write to,',
  '  - put redis-server or valkey-server on the PATH (the tests start and stop their own),',
  '  - start Docker, or run as root on Debian or Ubuntu, where redis-server can be installed.',
].join('\n')

/**
 * The path of a Redis or Valkey server that tests can start: one on the PATH, else, as root on Debian or Ubuntu, one
 * that gets installed now.
 *
 * @throws when there is none; the message says how to get one
 */
export function findRedisBinary(machine: Machine = thisMachine): string {
  const found = onPath(machine.path)
  if (found) return found
  if (!machine.isRoot || !machine.hasApt) throw new Error(NO_REDIS)
  machine.install()
  const installed = onPath(APT_FOLDER)
  if (installed) return installed
  throw new Error(`Installing redis-server failed.\n${NO_REDIS}`)
}

function onPath(path: string): string | undefined {
  const candidates = path.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)))
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

function installWithApt(): void {
  if (onPath(APT_FOLDER)) return
  process.stdout.write('No Redis on the PATH: installing redis-server with apt-get.\n')
  // RUNLEVEL=1 keeps the package from starting Redis as a service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env })
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], {
    stdio: 'ignore',
    env,
  })
}
