// node tools/publish.mjs FOLDER: publishes the tarballs in a folder to npm, core first, and leaves out those that npm has. Further
// arguments go to npm publish, such as --dry-run.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isPublished, namesAndVersion } from './release-state.mjs'

const [folder, ...args] = process.argv.slice(2)
const isDryRun = args.includes('--dry-run')
const { names, version } = namesAndVersion()
const npm = (...given) =>
  execFileSync('npm', given, { encoding: 'utf8', shell: process.platform === 'win32' })

if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined) {
  // npm 11.5.1 is the first that gets its permission from the workflow that it runs in.
  const [major = 0, minor = 0, patch = 0] = npm('--version').trim().split('.').map(Number)
  if (major * 1e6 + minor * 1e3 + patch < 11_005_001) fail('update npm to 11.5.1 or newer')
}

for (const name of names) {
  const tarball = resolve(folder, `${name.slice(1).replace('/', '-')}-${version}.tgz`)
  if (!existsSync(tarball)) fail(`${tarball} is missing`)
  if (!isDryRun && (await isPublished(name, version)))
    process.stdout.write(`${name}@${version} is already on npm\n`)
  // Forced, a dry run does not ask npm for the versions that it has.
  else
    process.stdout.write(
      npm('publish', tarball, '--loglevel=error', ...args, ...(isDryRun ? ['--force'] : [])),
    )
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
