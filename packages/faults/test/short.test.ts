import { FAULTS } from '../src/faults.ts'
import { runFaults } from './run-faults.ts'

// Checks answers, bounds and counts. `npm run faults` judges how fast answers are, on a quiet machine.
test('applications live through every fault of Redis', async () => {
  const { code, output } = await runFaults('--short')
  const failed = output.split('\n').filter((line) => line.startsWith('|') && !line.endsWith('| nothing |'))
  // Without the two head lines of the table.
  expect(failed.slice(2)).toEqual([])
  expect(output).toContain(`${FAULTS.length} runs, 0 violations`)
  expect(code).toBe(0)
}, 280_000)
