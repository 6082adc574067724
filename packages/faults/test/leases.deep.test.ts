import { runLeases } from './run-faults.ts'

test.each(['sliding-log', 'token-bucket', 'bucket, window and log'])(
  'four processes on a plan of %s never let in more than it has',
  async (plan) => {
    const { code, output } = await runLeases('--seconds', '3', '--plan', plan, '--trouble', 'none', '--exact')
    expect(output).toContain('no violations')
    expect(code).toBe(0)
  },
  120_000,
)
