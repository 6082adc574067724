import { STORES } from '../src/stores/index.ts'
import { runFaults } from './run-faults.ts'

// Checks answers, bounds and counts. `npm run faults` judges how fast answers are, on a quiet machine.
test('applications live through every fault of every store', async () => {
  const { code, output } = await runFaults('--short')
  const failed = output.split('\n').filter((line) => line.startsWith('|') && !line.endsWith('| nothing |'))
  // Without the two head lines of each table.
  expect(failed.filter((line) => !/^\| (?:fault|---) \|/.test(line))).toEqual([])
  const faults = STORES.flatMap((store) => store.faults)
  expect(output).toContain(`${faults.length} runs, 0 violations`)
  expect(code).toBe(0)
})
