import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'

const source = resolve(__dirname, '../src')

export interface Ran {
  readonly code: number
  readonly output: string
}

/** Runs `npm run faults` with these arguments, in a process of its own. */
export function runFaults(...args: string[]): Promise<Ran> {
  return runProgram('main.ts', args)
}

/** Runs `npm run leases` with these arguments, in a process of its own. */
export function runLeases(...args: string[]): Promise<Ran> {
  return runProgram('leases/main.ts', args)
}

/** Runs `npm run in-flight` with these arguments, in a process of its own. */
export function runInFlight(...args: string[]): Promise<Ran> {
  return runProgram('in-flight/main.ts', args)
}

async function runProgram(file: string, args: readonly string[]): Promise<Ran> {
  const program = ['--import', join(source, 'typescript.mjs'), join(source, file), ...args]
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = await once(child, 'close')
  return { code: code as number, output }
}
