import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { FAULTS } from '../src/faults.ts'

const source = resolve(__dirname, '../src')

async function runFaults(...args: string[]): Promise<{ code: number; output: string }> {
  const program = ['--import', join(source, 'typescript.mjs'), join(source, 'main.ts'), ...args]
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = await once(child, 'exit')
  return { code: code as number, output }
}

test('applications live through every fault of Redis', async () => {
  const { code, output } = await runFaults('--short', '--busy')
  const failed = output.split('\n').filter((line) => line.startsWith('|') && !line.endsWith('| nothing |'))
  // Head and rule of the table.
  expect(failed.slice(2)).toEqual([])
  expect(output).toContain(`${FAULTS.length} runs, 0 violations`)
  expect(code).toBe(0)
}, 180_000)

test('a limiter soaked in random faults lets nobody have more than the plan', async () => {
  const { code, output } = await runFaults('--soak', '0.15')
  expect(output).toContain('all as it should be')
  expect(code).toBe(0)
}, 120_000)
