import { countText, durationText } from '../words.ts'

interface Covered {
  readonly coversMs: number
  readonly processes: number
}

/** Such as `Last 58 s, 3 processes; figures with ± are estimates`. */
export function coverageText(
  { coversMs, processes }: Covered,
  errors: readonly { readonly error: number }[],
): string {
  const base = `Last ${durationText(Math.round(coversMs / 1000) * 1000)}, ${countText(processes, 'process', 'processes')}`
  return errors.some(({ error }) => error > 0) ? `${base}; figures with ± are estimates` : base
}
