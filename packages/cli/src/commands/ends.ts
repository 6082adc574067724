import type { Command } from 'commander'
import { CommandError, EXIT } from '../errors.js'

/** How long something holds. */
export interface EndFlags {
  readonly for?: string
  readonly until?: string
}

const EXAMPLE = 'Pass --for 1h, or --until 2027-01-31T18:00:00Z.'

export function withEnd(command: Command): Command {
  return command
    .option('--for <time>', 'how long: 30min, 1h, 7d, at most 400d')
    .option('--until <time>', 'when it ends: a date and time with its zone, such as 2027-01-31T18:00:00Z')
}

/**
 * One of the two, as core reads them.
 *
 * @throws {CommandError} for none, for both, and for what can be read in two ways
 */
export function needEnd({
  for: length,
  until,
}: EndFlags): { readonly for: string } | { readonly until: string } {
  if (length !== undefined && until !== undefined)
    throw new CommandError(EXIT.usage, 'Pass either --for or --until.', EXAMPLE)
  const [, number] = /^(\d+) *m$/i.exec(length ?? '') ?? []
  if (number !== undefined)
    throw new CommandError(
      EXIT.usage,
      `--for: got '${number}m', and m could be minutes or months.`,
      `Pass --for ${number}min, or days: --for ${Number(number) * 30}d.`,
    )
  if (length !== undefined) return { for: length }
  if (until !== undefined) return { until }
  throw new CommandError(EXIT.usage, 'This needs an end.', EXAMPLE)
}
