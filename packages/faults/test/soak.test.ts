import { runFaults } from './run-faults.ts'

test('a limiter soaked in random faults lets nobody have more than the plan', async () => {
  const { code, output } = await runFaults('--short', '--soak', '0.15')
  // All of it: what was wrong is said there, and the seed that makes the same faults again.
  expect(output).toContain('all as it should be')
  expect(code).toBe(0)
}, 180_000)
