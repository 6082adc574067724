import type { Limiter, LimiterOptions } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import { CommandError, EXIT } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import type { Cell } from '../output/table.js'
import { counted, numberInWords, quotaInWords } from '../output/words.js'
import { DEFAULT_FILES, inMemory, loadPlansFile } from '../session/plans-file.js'
import type { SharedFlags } from '../session/configuration.js'
import { addCommand, withJson, type Shell } from './command.js'

type KnownPlan = NonNullable<ReturnType<ReturnType<typeof internalsOf>['plans']>>[number]

/** A plan as it was understood. */
interface CheckedPlan {
  readonly plan: string
  readonly isDefault: boolean
  readonly limits: KnownPlan['limits']
  /** Its other options, and what it is if it has no limits. */
  readonly notes: readonly string[]
}

export function addCheck(shell: Shell): void {
  const command = addCommand<SharedFlags>(
    shell,
    {
      usage: 'check [file]',
      summary: 'check the plans file, and print its plans as a table',
      about:
        'Checks the options of createLimiter that a file exports, as the application does when it starts, and prints the plans. It asks no Redis, so it suits CI.',
      examples: [
        ['check', 'tollgate.config.js in this folder'],
        ['check config/plans.mjs --json', 'another file, for programs'],
      ],
    },
    async ({ host, out }, named) => {
      const file = await loadPlansFile(named, host.cwd)
      if (!file)
        throw new CommandError(
          EXIT.usage,
          `There is no ${DEFAULT_FILES.join(' and no ')} here. Name the file: tollgate check FILE.`,
        )
      const plans = await inMemory(file.options, Date.now(), (limiter) => checked(limiter, file.options))
      out.json({ file: file.shown, plans })
      const rows = plans.flatMap(rowsOf)
      out.table(
        [
          { title: 'PLAN', narrow: 'cut' },
          { title: 'LIMIT', narrow: 'cut' },
          { title: 'ALLOWS' },
          { title: 'NOTES', narrow: 'wrap' },
        ],
        rows,
      )
      out.line()
      out.line(`${file.shown} is right: ${counted(plans.length, 'plan')}.`)
      return EXIT.done
    },
  )
  withJson(command)
}

function checked(limiter: Limiter, { plans, limit }: LimiterOptions): readonly CheckedPlan[] {
  const inputs = Object.entries<unknown>(plans ?? { default: limit })
  const known = internalsOf(limiter).plans() ?? []
  return inputs.map(([plan, input]) => {
    const { isDefault = false, limits = [] } = known.find(({ name }) => name === plan) ?? {}
    return {
      ...{ plan, isDefault: isDefault || inputs.length === 1, limits },
      notes: notesOf(input, limits.length === 0),
    }
  })
}

function notesOf(input: unknown, isEmpty: boolean): readonly string[] {
  const isPlan = typeof input === 'object' && input !== null && 'limits' in input
  const options = isPlan ? Object.keys(input).filter((name) => name !== 'limits') : []
  const limits = isPlan ? (input as { readonly limits: unknown }).limits : input
  return [
    ...(isEmpty ? [typeof limits === 'string' ? safeText(limits) : 'only observes'] : []),
    ...options.map((one) => safeText(one)),
  ]
}

function rowsOf({ plan, isDefault, limits, notes }: CheckedPlan): readonly (readonly Cell[])[] {
  const name = safeText(plan)
  const all = [...(isDefault ? ['default plan'] : []), ...notes].join(', ')
  if (limits.length === 0) return [[name, '', '', all]]
  return limits.map((limit, i): readonly Cell[] => [
    i === 0 ? name : '',
    safeText(limit.name),
    allowed(limit),
    i === 0 ? all : '',
  ])
}

function allowed({ quota, windowMs, burst, overage }: KnownPlan['limits'][number]): string {
  const more = [
    ...(burst === undefined ? [] : [`burst ${numberInWords(burst)}`]),
    ...(overage ? ['overage'] : []),
  ]
  return [quotaInWords(quota, windowMs), ...more].join(', ')
}
