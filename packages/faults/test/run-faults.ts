import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'

const source = resolve(__dirname, '../src')

/** Runs `npm run faults` with these arguments, in a process of its own. */
export async function runFaults(...args: string[]): Promise<{ code: number; output: string }> {
  const program = ['--import', join(source, 'typescript.mjs'), join(source, 'main.ts'), ...args]
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = await once(child, 'close')
  return { code: code as number, output }
}
