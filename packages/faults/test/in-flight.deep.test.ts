import { runInFlight } from './run-faults.ts'

// The other troubles take minutes: npm run in-flight.
test.each([['processes are killed', 'closed']])(
  'four processes never run more than the plan has slots, and give all of them back: %s',
  async (trouble, policy) => {
    const { code, output } = await runInFlight(
      ...['--seconds', '3', '--trouble', trouble, '--exact', '--policy', policy, '--short'],
    )
    expect(output).toContain('no violations')
    expect(code).toBe(0)
  },
  180_000,
)
