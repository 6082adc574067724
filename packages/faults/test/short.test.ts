import { FAULTS } from '../src/faults.ts'
import { runFaults } from './run-faults.ts'

// Answers, bounds and counts. How soon answers come is judged by `npm run faults`, on a machine of its own.
test('applications live through every fault of Redis', async () => {
  const { code, output } = await runFaults('--short')
  const failed = output.split('\n').filter((line) => line.startsWith('|') && !line.endsWith('| nothing |'))
  // Head and rule of the table.
  expect(failed.slice(2)).toEqual([])
  expect(output).toContain(`${FAULTS.length} runs, 0 violations`)
  expect(code).toBe(0)
}, 280_000)
