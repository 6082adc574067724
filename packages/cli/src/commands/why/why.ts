import { denialReferences } from '@tollgate/core'
import { CommandError, EXIT, type ExitCode } from '../../errors.js'
import { readSecrets } from '../../session/secrets.js'
import type { Context, SharedFlags } from '../../session/configuration.js'
import type { SubjectFlags } from '../../session/subject.js'
import { addCommand, withConnection, withSubject, type Shell } from '../command.js'
import { sentencesOf } from './cause.js'
import { readLog } from './log.js'

export interface WhyFlags extends SharedFlags, SubjectFlags {
  readonly at?: string
  readonly secretFile?: string
}

export function addWhy(shell: Shell): void {
  const command = addCommand<WhyFlags>(
    shell,
    {
      usage: 'why [id-or-reference]',
      summary: 'why requests were denied, from the log or from the reference of one',
      about:
        'Says why a customer was denied, from the log of the last seven days. Or it reads the reference of one denial, the field instance in the body of a 429 or 403: that needs the secret of denialReferences, and no Redis.',
      examples: [
        ['why acme', 'the denials of the last day'],
        ['why acme --at 14:03', 'around the latest 14:03 (UTC)'],
        ['why --at 2027-01-31T14:03:00+01:00', 'who was denied then'],
        ['why urn:tollgate:AZ…', 'a reference, with the secret in TOLLGATE_SECRET'],
      ],
    },
    (context, asked) => {
      const reference = referenceIn(asked)
      return reference === undefined ? readLog(context, asked) : openReference(context, reference)
    },
  )
  command
    .option('--at <time>', 'around this time: 14:03 in UTC, or a date and time with its zone')
    .option(
      '--secret-file <file>',
      'for references: a file with secrets, one a line (default: the variable TOLLGATE_SECRET)',
    )
  withConnection(withSubject(command))
}

const NO_SECRET =
  'Set TOLLGATE_SECRET to the secret of denialReferences, or pass --secret-file FILE. Never type it as an argument.'

/** The reference in what was copied: often that is the whole body of a denial. */
function referenceIn(asked: string | undefined): string | undefined {
  return asked === undefined ? undefined : /urn:tollgate:[\w-]*/i.exec(asked)?.[0]
}

async function openReference({ host, flags, out }: Context<WhyFlags>, reference: string): Promise<ExitCode> {
  if (flags.at !== undefined)
    throw new CommandError(EXIT.usage, '--at: a reference says itself when the denial was. Leave --at out.')
  const source = { variable: 'TOLLGATE_SECRET', option: '--secret-file', file: flags.secretFile }
  const secret = readSecrets(source, host)
  if (secret.length === 0)
    throw new CommandError(EXIT.usage, 'The secret that sealed the reference is missing.', NO_SECRET)
  const denial = denialReferences({ secret }).open(reference)
  out.json(denial)
  for (const sentence of sentencesOf(denial, Date.now())) out.say(sentence)
  return EXIT.done
}
