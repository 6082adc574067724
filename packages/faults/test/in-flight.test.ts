import { runInFlight } from './run-faults.ts'

test.each([
  ['processes are killed', 'closed'],
  ['Redis is emptied', 'closed'],
])(
  'four processes never run more than the plan has slots, and give all of them back: %s',
  async (trouble, policy) => {
    const { code, output } = await runInFlight(
      ...['--seconds', '4', '--trouble', trouble, '--exact', '--policy', policy, '--short'],
    )
    expect(output).toContain('all as it should be')
    expect(code).toBe(0)
  },
  180_000,
)
