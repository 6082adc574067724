import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const root = resolve(__dirname, '../../..')

/** A bare project in a temporary folder, with the packed packages installed like a user would. */
export interface Project {
  readonly folder: string
  /** Runs a program there and resolves to its output. Rejects when it fails; the message has all output. */
  run(command: string, args: readonly string[]): Promise<string>
  remove(): void
}

/** Packs built packages as they would be published. Returns the paths of the tarballs, in the order of the names. */
export async function packPackages(names: readonly string[], into: string): Promise<string[]> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devEngines.packageManager
  for (const name of names) {
    if (!existsSync(join(root, 'packages', name, 'dist/cjs/package.json')))
      throw new Error(`packages/${name} is not built: run npm run build`)
  }
  const filters = names.flatMap((name) => ['--filter', `./packages/${name}`])
  const { stdout } = await exec(
    'npx',
    ['-y', `pnpm@${version}`, ...filters, 'pack', '--json', '--pack-destination', into],
    { cwd: root },
  )
  const packed = JSON.parse(stdout.slice(stdout.indexOf('['))) as { name: string; filename: string }[]
  return names.map((name) =>
    resolve(into, packed.find((one) => one.name === `@tollgate/${name}`)?.filename ?? ''),
  )
}

/** Makes a project of these files, and installs these packages with npm: tarballs, or `name@version`. */
export async function makeProject(
  files: Readonly<Record<string, string>>,
  packages: readonly string[],
): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-project-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const project: Project = {
    folder,
    run: async (command, args) => {
      try {
        return (await exec(command, [...args], { cwd: folder })).stdout
      } catch (error) {
        const { stdout, stderr } = error as { stdout?: string; stderr?: string }
        throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error })
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
  await project.run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages])
  return project
}
