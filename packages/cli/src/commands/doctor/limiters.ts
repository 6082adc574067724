import { createLimiter, redisStore } from '@tollgate/core'
import type { Client } from '../../connection/client.js'
import { safeText } from '../../output/safe-text.js'
import { counted } from '../../output/words.js'
import { unreadInWords } from '../../session/session.js'
import { failed, ok, warning, type Finding } from './finding.js'
import { serversOf } from './server.js'

/** How long keys are looked for, in ms, and how many are read at a time. */
const [LOOKING_MS, AT_A_TIME] = [1000, 1000]
/** More names are the business of nobody who looks at a terminal. */
const MOST_NAMES = 20

/** Keys that also a mistyped command leaves: rules, and notes about their changes. */
const OF_RULES = /^(?:\{\d+\}\/)?!(?:rules|board\.(?:times\.)?rules)/
/** The processes of a limiter that are open. Its name may be empty. */
const OF_PROCESSES = /^(?:\{\d+\}\/)?!instances\.(.*)\^$/

/** What keys say of the applications that use Tollgate. */
interface Applications {
  /** What keys of this one begin with. */
  readonly own: string
  /** Whether keys can be listed. */
  readonly isSeen: boolean
  readonly counts: boolean
  readonly hasRules: boolean
  readonly names: ReadonlySet<string>
  /** Prefixes of others. */
  readonly others: ReadonlySet<string>
}

/** Whether the application counts under the prefix, and which limiters it has. */
export async function checkLimiters(
  client: Client,
  prefix: string,
  keyPrefix: string,
): Promise<readonly Finding[]> {
  const found = await lookAround(client, `${keyPrefix}${prefix}/`)
  const processes = found.names.size === 0 ? [] : [await checkProcesses(client, keyPrefix + prefix, found)]
  return [prefixFinding(found), ...processes]
}

async function lookAround(client: Client, own: string): Promise<Applications> {
  const until = Date.now() + LOOKING_MS
  const [names, others] = [new Set<string>(), new Set<string>()]
  let [isSeen, counts, hasRules] = [true, false, false]
  const note = (key: string): void => {
    // Each application that uses Tollgate has such a key.
    const [, other] = /^([\w.:-]{1,80})\/(?:\{\d+\}\/)?!(?:instances|rules)/.exec(key) ?? []
    if (!key.startsWith(own)) return void (other !== undefined && others.add(other))
    const rest = key.slice(own.length)
    if (OF_RULES.test(rest)) hasRules = true
    else counts = true
    const [, name] = OF_PROCESSES.exec(rest) ?? []
    if (name !== undefined && names.size < MOST_NAMES) names.add(name)
  }
  for (const server of serversOf(client)) {
    let cursor = '0'
    do {
      const reply = await server.call('scan', cursor, 'COUNT', String(AT_A_TIME)).catch(() => undefined)
      isSeen &&= reply !== undefined
      const [next, keys] = (reply ?? ['0', []]) as [string, string[]]
      keys.forEach(note)
      cursor = next
    } while (cursor !== '0' && Date.now() < until)
  }
  return { own, isSeen, counts, hasRules, names, others }
}

/** A wrong prefix looks like a customer who used nothing. */
function prefixFinding({ own, isSeen, counts, hasRules, others }: Applications): Finding {
  if (!isSeen)
    return ok('prefix', `Keys begin with ${own}. Whether there are any cannot be seen without +scan.`)
  if (counts) return ok('prefix', `Tollgate counts under ${own} here.`)
  // Commands leave rules, too.
  const nothing = `There is nothing${hasRules ? ' of an application' : ''} under ${own}`
  const [first] = others
  if (first !== undefined)
    return failed(
      'prefix',
      `${nothing}. Keys of Tollgate are under ${[...others].join(', ')}.`,
      `Pass --prefix ${first}, and --key-prefix if the client has one.`,
    )
  return warning(
    'prefix',
    `${nothing} yet.`,
    'If the application has counted already, pass its --prefix and its database.',
  )
}

/** Which limiters have processes now, and whether all of those are of one version. */
async function checkProcesses(client: Client, prefix: string, { names }: Applications): Promise<Finding> {
  const store = redisStore(client, { prefix })
  const [told, unread]: [string[], number[]] = [[], []]
  for (const name of [...names].toSorted()) {
    const limiter = createLimiter({
      ...{ store, limit: '1/s', traffic: false, warnings: false },
      ...(name !== '' && { name }),
    })
    try {
      const view = await limiter.traffic({ most: 1 })
      unread.push(view.unread)
      const shown = name === '' ? 'the limiter without a name' : `--name ${safeText(name)}`
      told.push(`${shown} (${counted(view.processes + view.unread, 'process', 'es')})`)
    } finally {
      await limiter.close()
    }
  }
  const says = `Limiters with requests in the last minute: ${told.join(', ')}.`
  const others = unread.reduce((sum, one) => sum + one, 0)
  if (others === 0) return ok('limiters', says)
  return warning(
    'limiters',
    `${says} ${unreadInWords(others)}`,
    'Run the same version of Tollgate in all processes, and of this command: npx @tollgate/cli@VERSION.',
  )
}
