import { randomBytes } from 'node:crypto'
import { REDIS_COMMANDS, REDIS_COMMANDS_FOR_RULES } from '@tollgate/core/adapter'
import { Cluster } from 'ioredis'
import type { Address } from '../../connection/address.js'
import type { Client } from '../../connection/client.js'
import { failed, ok, warning, type Finding } from './finding.js'

/** Commands on a key, each with arguments that change nothing where the key does not exist. */
const HARMLESS: readonly (readonly [string, ...string[]])[] = [
  ['get', 'KEY'],
  ['mget', 'KEY'],
  ['set', 'KEY', 'x', 'XX', 'PX', '1'],
  ['setrange', 'KEY', '0', ''],
  ['del', 'KEY'],
  ['hget', 'KEY', 'x'],
  ['hdel', 'KEY', 'x'],
  ['pexpire', 'KEY', '1'],
  ['zadd', 'KEY', 'XX', '0', 'x'],
  ['zcard', 'KEY'],
  ['zrange', 'KEY', '0', '-1'],
  ['zrem', 'KEY', 'x'],
  ['zremrangebyrank', 'KEY', '0', '-1'],
  ['zremrangebyscore', 'KEY', '0', '0'],
  ['zscore', 'KEY', 'x'],
]

export interface RightsQuestion {
  readonly prefix: string
  readonly keyPrefix: string
  readonly address: Address
}

/** Asks for each command and for the keys whether the user may use them. Nothing is left in Redis. */
export async function checkRights(client: Client, question: RightsQuestion): Promise<readonly Finding[]> {
  const { prefix, keyPrefix, address } = question
  const key = `${prefix}/${client instanceof Cluster ? '{0}/' : ''}!doctor.${randomBytes(6).toString('hex')}`
  const missing: string[] = []
  let isKeyDenied = false
  const tries = [...HARMLESS, ['time'], ['eval', 'return 1', '0'], ['evalsha', '0'.repeat(40), '0']] as const
  for (const [command, ...args] of tries) {
    const words = args.map((one) => (one === 'KEY' ? keyPrefix + key : one))
    const refusal = await refusalOf(client, command, words)
    if (refusal === 'command') missing.push(command)
    else if (refusal === 'key') isKeyDenied = true
  }
  // There is no HSET that changes nothing, so it is tried on a key that goes again at once.
  if (!isKeyDenied && !missing.includes('del')) {
    if ((await refusalOf(client, 'hset', [keyPrefix + key, 'x', 'x'])) === 'command') missing.push('hset')
    await client.call('del', keyPrefix + key).catch(() => {})
  }
  return findings(missing, isKeyDenied, { ...question, address })
}

/** Whether Redis refuses the command itself, or only its key. Other errors say that it is permitted. */
async function refusalOf(
  client: Client,
  command: string,
  args: readonly string[],
): Promise<'command' | 'key' | undefined> {
  try {
    await client.call(command, ...args)
    return undefined
  } catch (error) {
    const { message } = error as Error
    if (!/\bNOPERM\b/.test(message)) return undefined
    return /\bkeys?\b/.test(message.replace(/.*NOPERM/, '')) && !/run the/.test(message) ? 'key' : 'command'
  }
}

function findings(
  missing: readonly string[],
  isKeyDenied: boolean,
  question: RightsQuestion,
): readonly Finding[] {
  const { prefix, keyPrefix, address } = question
  const user = address.username ?? 'default'
  const keys = `~${keyPrefix}${prefix}/*`
  const found: Finding[] = []
  if (isKeyDenied)
    found.push(
      failed(
        'keys',
        `The user ${user} may not use keys that begin with ${keyPrefix}${prefix}/.`,
        `ACL SETUSER ${user} ${keys}`,
      ),
    )
  if (missing.length > 0) {
    const isOnlyRules = missing.every((one) => REDIS_COMMANDS_FOR_RULES.some((other) => other === one))
    const says = `The user ${user} may not run ${missing.join(', ')}${isOnlyRules ? ', which rules and traffic figures need' : ''}.`
    const fix = `ACL SETUSER ${user} ${missing.map((one) => `+${one}`).join(' ')}`
    found.push(failed('rights', says, fix))
  }
  if (found.length > 0) return found
  if (address.username === undefined && address.password === undefined)
    return [
      warning(
        'rights',
        'Everybody who reaches this Redis can do everything with it: there is no password. Give the application a user of its own, then turn the user default off.',
        `ACL SETUSER tollgate on >SECRET resetchannels ${keys} -@all ${REDIS_COMMANDS.map((one) => `+${one}`).join(' ')}`,
      ),
    ]
  return [ok('rights', `The user ${user} may run all ${REDIS_COMMANDS.length} commands that Tollgate uses.`)]
}
