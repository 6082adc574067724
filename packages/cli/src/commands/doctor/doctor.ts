import { connect as connectTcp } from 'node:net'
import type { Address } from '../../connection/address.js'
import {
  connect,
  makeClient,
  PATIENCE_MS,
  readCa,
  reasonOf,
  type Client,
  type ClientOptions,
} from '../../connection/client.js'
import { faultOf } from '../../connection/faults.js'
import { EXIT, type ExitCode } from '../../errors.js'
import type { Output } from '../../output/output.js'
import { safeText } from '../../output/safe-text.js'
import type { Cell } from '../../output/table.js'
import { counted } from '../../output/words.js'
import { configure, type Context } from '../../session/configuration.js'
import { addCommand, withConnection, type Shell } from '../command.js'
import { failed, ok, warning, type Finding } from './finding.js'
import { checkLimiters } from './limiters.js'
import { checkRights } from './rights.js'
import {
  checkClock,
  checkCluster,
  checkLatency,
  checkMemory,
  checkPersistence,
  checkReplication,
  checkScripting,
  checkVersion,
  readInfo,
  serversOf,
} from './server.js'

const DEFAULT_DEADLINE_MS = 100

export function addDoctor(shell: Shell): void {
  const command = addCommand(
    shell,
    {
      usage: 'doctor',
      summary: 'check that Redis is set up right, and say what to type if not',
      about:
        'Checks the connection, the login, the rights, and the settings of Redis. It goes on as far as it can, and changes nothing.',
      examples: [
        ['doctor', 'the Redis of REDIS_URL'],
        ['doctor --cluster --url redis://node-1:6379,redis://node-2:6379', 'a cluster'],
      ],
    },
    async (context) => {
      const { address, plans } = await configure(context)
      const deadlineMs = plans?.options.deadlineMs ?? DEFAULT_DEADLINE_MS
      const examined = await examine(context, address, deadlineMs)
      const all = [...examined.connection, ...examined.findings]
      context.out.json({ address: address.shown, checks: all })
      print(context.out, address, all)
      return exitOf(examined)
    },
  )
  withConnection(command)
}

/** What the connection needs comes first: without it, nothing else can be checked. */
interface Examination {
  readonly connection: readonly Finding[]
  readonly findings: readonly Finding[]
}

async function examine({ flags, host }: Context, address: Address, deadlineMs: number): Promise<Examination> {
  const { keyPrefix = '', prefix = 'tollgate' } = flags
  const reached = await checkReach(address)
  if (reached.result === 'failed') return { connection: [reached], findings: [] }
  // Keys are named here as Redis knows them, so the client adds no prefix.
  const options = { ca: readCa(flags.tlsCa, host.cwd) }
  const client = makeClient(address, options)
  try {
    const login = await checkLogin(client, address, options)
    if (login.result === 'failed') return { connection: [reached, login], findings: [] }
    const rights = await checkRights(client, { prefix, keyPrefix, address })
    const user = safeText(address.username ?? 'default')
    const others = await examineServer(client, { prefix, keyPrefix, deadlineMs, user })
    const isRefused = rights.some(({ result }) => result === 'failed')
    return {
      connection: [reached, login, ...(isRefused ? rights : [])],
      findings: [...(isRefused ? [] : rights), ...others],
    }
  } finally {
    client.disconnect()
  }
}

/** Whether anything listens at the first address that can be reached. */
async function checkReach({ nodes, shown }: Address): Promise<Finding> {
  const errors: unknown[] = []
  for (const node of nodes) {
    const error = await tcpErrorOf(node)
    if (error === undefined) return ok('address', `${node.host}:${node.port} can be reached.`)
    errors.push(error)
  }
  const { says, hint } = faultOf(errors[0], { shown } as Address)
  return failed('address', says, hint)
}

function tcpErrorOf({ host, port }: Address['nodes'][number]): Promise<unknown> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port, timeout: PATIENCE_MS })
    const end = (error?: unknown): void => {
      socket.destroy()
      resolve(error)
    }
    socket.once('connect', () => end())
    socket.once('error', end)
    socket.once('timeout', () => end(new Error('it did not answer')))
  })
}

async function checkLogin(client: Client, address: Address, options: ClientOptions): Promise<Finding> {
  try {
    // Without the right to ask for the time, there is more to find out.
    await connect(client, () => client.time().catch((error) => void (isNoRight(error) || fail(error))))
  } catch (error) {
    const { kind, says, hint } = faultOf(await reasonOf(error, address, options), address)
    return failed(kind === 'protocol' ? 'protocol' : 'login', says, hint)
  }
  const { username, isTls } = address
  const how = isTls ? ' over TLS' : ''
  return ok(
    'login',
    username === undefined ? `It answers${how}.` : `It answers the user ${safeText(username)}${how}.`,
  )
}

function isNoRight(error: unknown): boolean {
  return /\bNOPERM\b/.test((error as Error).message)
}

function fail(error: unknown): never {
  throw error
}

interface ServerQuestion {
  readonly prefix: string
  readonly keyPrefix: string
  readonly deadlineMs: number
  readonly user: string
}

async function examineServer(client: Client, question: ServerQuestion): Promise<readonly Finding[]> {
  const { prefix, keyPrefix, deadlineMs, user } = question
  const servers = serversOf(client)
  const infos = await Promise.all(servers.map((server) => server.call('info').then(String, () => '')))
  const scripting = await tried('scripting', () => checkScripting(client))
  const measured = [
    await tried('clock', () => checkClock(client)),
    await tried('latency', () => checkLatency(client, deadlineMs)),
    ...(await checkLimiters(client, prefix, keyPrefix).catch((error) => [failure('prefix', error)])),
  ]
  if (infos.includes('')) {
    const unseen = warning(
      'server',
      'Its version, memory, disk and replicas cannot be seen.',
      `ACL SETUSER ${user} +info`,
    )
    return [scripting, unseen, ...measured]
  }
  const read = infos.map(readInfo)
  const checks = [checkVersion, checkMemory, checkPersistence, checkReplication]
  // Of the servers of a cluster, the one that is worst is shown.
  const found = checks.map((check) => worstOf(read.map(check)))
  const cluster = await checkCluster(client, read[0] ?? new Map())
  return [scripting, ...found, cluster, ...measured]
}

/** A check that fails itself, such as without a right, is a finding, too. */
async function tried(check: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    return failure(check, error)
  }
}

function failure(check: string, error: unknown): Finding {
  const { message } = error as Error
  return failed(
    check,
    isNoRight(error) ? 'The user may not ask for it.' : `It failed: ${safeText(message, 200)}.`,
  )
}

const RANKS = ['ok', 'warning', 'failed'] as const

function worstOf(findings: readonly Finding[]): Finding {
  return findings.reduce((a, b) => (RANKS.indexOf(b.result) > RANKS.indexOf(a.result) ? b : a))
}

const STYLES = { ok: 'good', warning: 'odd', failed: 'bad' } as const

function print(out: Output, { shown }: Address, findings: readonly Finding[]): void {
  out.say(out.paint('strong', shown))
  out.line()
  const rows = findings.map(({ check, result, says }): readonly Cell[] => [
    { text: result, style: STYLES[result] },
    check,
    says,
  ])
  out.table([{ title: 'RESULT' }, { title: 'CHECK' }, { title: 'WHAT WAS FOUND', narrow: 'wrap' }], rows)
  for (const { check, fix } of findings) {
    if (fix === undefined) continue
    out.line()
    out.line(`${out.paint('strong', check)}:`)
    // Not wrapped: it is there to be copied.
    out.line(`  ${fix}`)
  }
  const [failures, warnings] = (['failed', 'warning'] as const).map(
    (result) => findings.filter((one) => one.result === result).length,
  ) as [number, number]
  out.line()
  out.line(
    failures + warnings === 0
      ? 'All is well.'
      : `${counted(failures, 'failure')}, ${counted(warnings, 'warning')}.`,
  )
  out.say(
    "The settings of the application's own client cannot be seen from here: Tollgate warns in its log if one is missing.",
  )
}

/** Warnings are no failure. */
function exitOf({ connection, findings }: Examination): ExitCode {
  const hasFailed = ({ result }: Finding): boolean => result === 'failed'
  if (connection.some(hasFailed)) return EXIT.store
  return findings.some(hasFailed) ? EXIT.refused : EXIT.done
}
