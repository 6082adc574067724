import { denialReferences, type ReferredDenial } from '@tollgate/core'
import { CommandError, EXIT, wrong, type ExitCode } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import { counted, lengthInWords, numberInWords, timeInWords } from '../output/words.js'
import { readSecrets } from '../session/secrets.js'
import type { Context, SharedFlags } from '../session/session.js'
import { addCommand, withJson, type Shell } from './command.js'

interface WhyFlags extends SharedFlags {
  readonly secretFile?: string
}

const NO_SECRET =
  'Set TOLLGATE_SECRET to the secret of denialReferences, or pass --secret-file FILE. Never type it as an argument.'

async function why({ host, flags, out }: Context<WhyFlags>, reference = ''): Promise<ExitCode> {
  const source = { variable: 'TOLLGATE_SECRET', option: '--secret-file', file: flags.secretFile }
  const secret = readSecrets(source, host)
  if (secret.length === 0)
    throw new CommandError(EXIT.usage, 'The secret that sealed the reference is missing.', NO_SECRET)
  if (!/^\s*urn:tollgate:/i.test(reference))
    throw wrong('REFERENCE', reference, "the field instance of a denial, such as 'urn:tollgate:AZ…'")
  const denial = denialReferences({ secret }).open(reference)
  out.json(denial)
  for (const sentence of sentencesOf(denial)) out.say(sentence)
  return EXIT.done
}

export function addWhy(shell: Shell): void {
  const command = addCommand<WhyFlags>(
    shell,
    {
      usage: 'why <reference>',
      summary: 'why a request was denied, from the reference in its answer',
      about:
        'Reads the reference of a denial: the field instance in the body of a 429 or 403. It needs the secret of denialReferences, and no Redis.',
      examples: [
        ['why urn:tollgate:AZ…', 'with the secret in TOLLGATE_SECRET'],
        [
          'why urn:tollgate:AZ… --secret-file /run/secrets/references',
          'with the secrets in a file, one a line',
        ],
      ],
    },
    why,
  )
  withJson(
    command.option(
      '--secret-file <file>',
      'a file with secrets, one a line (default: the variable TOLLGATE_SECRET)',
    ),
  )
}

/** What a reference says, for a person. */
function sentencesOf(denial: ReferredDenial): readonly string[] {
  const { at, reason, subject, plan, fitsAt, source, override } = denial
  const nowMs = Date.now()
  const who = subject === undefined ? 'A client' : safeText(String(subject))
  const on = plan === undefined || plan === '' ? '' : ` on the plan ${safeText(plan)}`
  const fits =
    fitsAt === null
      ? 'It would never have passed.'
      : `It would have passed from ${timeInWords(fitsAt, nowMs)} on (${lengthInWords(Math.max(0, fitsAt.getTime() - at.getTime()))} later).`
  return [
    `${who}${on} was denied at ${timeInWords(at, nowMs)}: ${causeOf(denial)}.`,
    fits,
    ...(override ? ['A rule had changed its limits: an override, or a scaled plan.'] : []),
    `Decided by: ${SOURCES[source] ?? safeText(source)}.`,
    ...(reason === 'blocked' ? ['tollgate rules shows whether it is blocked now.'] : []),
  ]
}

function causeOf({ reason, limit, cost, used, quota }: ReferredDenial): string {
  const name = limit === undefined ? 'a limit' : `the limit ${safeText(limit)}`
  const counts =
    used === undefined || quota === undefined
      ? ''
      : ` (${numberInWords(used)} of ${numberInWords(quota)} used, and the request costs ${counted(cost, 'unit')})`
  const causes: Readonly<Record<ReferredDenial['reason'], string>> = {
    'quota-exceeded': `${name} was used up${counts}`,
    'cost-exceeds-quota': `the request costs ${counted(cost, 'unit')}, more than ${name} ever allows`,
    'store-unavailable': "Redis did not answer, and onStoreFailure is 'closed'",
    blocked: 'it was blocked, by a rule, by its plan, or after too many denials',
    overloaded: 'the process was overloaded, and sheds requests of this plan',
  }
  return causes[reason]
}

const SOURCES: Readonly<Record<string, string>> = {
  store: 'Redis',
  cache: 'the process, which repeated a denial of Redis',
  lease: 'the process, with units on lease',
  place: 'Redis, for a request that waited in line',
  local: 'the process alone, because Redis did not answer',
  closed: "the failure policy 'closed', because Redis did not answer",
  open: "the failure policy 'open'",
  rule: 'a rule that an operator set',
  blocked: "the plan, which is 'blocked'",
  unlimited: 'the plan',
  list: 'the blockList',
  shed: 'the process, because it was overloaded',
}
