// npm run typecheck: checks the types of all packages, from their sources. One program has most of them, since each package for
// itself would compile core once more.
import { spawnSync } from 'node:child_process'

/** Beside the root's. @fastify/rate-limit declares the same members of Fastify as ours, so what knows it stands apart. */
const APART = ['packages/stores', 'packages/testing', 'examples/sql-store']

const commands = [
  ['turbo', 'run', 'codegen', '--output-logs=errors-only'],
  ...['.', ...APART].map((project) => ['tsc', '--noEmit', '-p', project]),
]
for (const [command, ...args] of commands) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}
