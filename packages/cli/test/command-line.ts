import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BINARY = join(__dirname, '../bin/tollgate.js')

/** What a process said, and what it ended with. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Runs the built binary as an operator does, in a pipe. It has no variables but these. */
export function tollgate(
  args: readonly string[],
  { env = {}, cwd = tmpdir() }: Surroundings = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [BINARY, ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    )
  })
}

/** A folder with these files, and what removes it. */
export function folderWith(files: Readonly<Record<string, string>>): {
  readonly cwd: string
  remove(): void
} {
  const cwd = mkdtempSync(join(tmpdir(), 'tollgate-cli-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  return { cwd, remove: () => rmSync(cwd, { recursive: true, force: true }) }
}

/** Runs the binary with this address in its environment. */
export function at(url: string, ...args: readonly string[]): Promise<Ended> {
  return tollgate(args, { env: { REDIS_URL: url } })
}

/** What one check of `doctor` found. */
interface Found {
  readonly check: string
  readonly result: string
  readonly says: string
  readonly fix?: string
}

export interface Checked {
  readonly code: number | null
  readonly of: (check: string) => Found | undefined
}

/** What `doctor` finds at this address. */
export async function doctor(url: string, ...more: readonly string[]): Promise<Checked> {
  const { code, stdout } = await at(url, 'doctor', '--json', ...more)
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Found[] }
  return { code, of: (check) => checks.find((found) => found.check === check) }
}
