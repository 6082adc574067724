import { runFaults } from './run-faults.ts'

test('a limiter soaked in random faults lets nobody have more than the plan', async () => {
  const { code, output } = await runFaults('--short', '--soak', '0.15')
  // The whole output, since it has the violations, and the seed to repeat the run.
  expect(output).toContain('no violations')
  expect(code).toBe(0)
})
