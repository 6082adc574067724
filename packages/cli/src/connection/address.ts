import { CommandError, EXIT, wrong } from '../errors.js'
import { safeText } from '../output/safe-text.js'

/** What a command says of the connection. */
export interface ConnectionFlags {
  readonly url?: string
  readonly cluster?: boolean
  /** The name of the primary, as sentinels know it. */
  readonly sentinel?: string
  readonly tlsCa?: string
  readonly keyPrefix?: string
}

/** Where Redis is, and as whom to log in. */
export interface Address {
  readonly kind: 'server' | 'cluster' | 'sentinel'
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  /** As sentinels know the primary. */
  readonly name: string | undefined
  readonly db: number
  readonly isTls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly sentinelPassword: string | undefined
  /** For people: without the password. */
  readonly shown: string
}

/** What is not shown can be a part of a password. */
const ENCODED =
  'In a password, write %2F for /, %23 for #, %3F for ? and %40 for @, or put it into REDIS_PASSWORD.'

type Env = Readonly<Record<string, string | undefined>>

const DEFAULT_URL = 'redis://127.0.0.1:6379'
const EXAMPLE = "a URL such as 'redis://127.0.0.1:6379', or rediss:// with TLS"

/**
 * Reads the address from `--url`, or from REDIS_URL.
 *
 * @throws {CommandError} for an address that is none, and for a password among the arguments, which all users of a machine can read
 */
export function readAddress(flags: ConnectionFlags, env: Env): Address {
  const { url, cluster = false, sentinel } = flags
  if (cluster && sentinel !== undefined)
    throw new CommandError(EXIT.usage, '--cluster and --sentinel exclude each other: pass one of them.')
  const [source, text] = url === undefined ? ['REDIS_URL', env['REDIS_URL'] || DEFAULT_URL] : ['--url', url]
  const kind = cluster ? 'cluster' : sentinel === undefined ? 'server' : 'sentinel'
  const urls = text.split(/,(?=\w+:\/\/)/).map((one) => parse(source, one.trim()))
  if (kind === 'server' && urls.length > 1)
    throw new CommandError(
      EXIT.usage,
      `${source}: there are ${urls.length} addresses.`,
      'Pass --cluster if they are nodes of a cluster, or --sentinel NAME if they are sentinels.',
    )
  const [first] = urls as [URL, ...URL[]]
  if (source === '--url') needNoPassword(urls)
  const username = decoded(first.username)
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: Number(port) || (kind === 'sentinel' ? 26379 : 6379),
  }))
  return {
    ...{ kind, nodes, name: sentinel, username, db: dbOf(source, first, kind) },
    isTls: first.protocol === 'rediss:' || flags.tlsCa !== undefined,
    password: decoded(first.password) ?? (env['REDIS_PASSWORD'] || undefined),
    sentinelPassword: env['REDIS_SENTINEL_PASSWORD'] || undefined,
    // Without a password, what stands for the user may be one.
    shown: shownOf(urls, nodes, { sentinel, hasPassword: first.password !== '' || !!env['REDIS_PASSWORD'] }),
  }
}

function parse(source: string, text: string): URL {
  let url: URL | undefined
  try {
    url = new URL(text)
  } catch {
    // What is no URL can still have a password in it.
    throw new CommandError(EXIT.usage, `${source}: this is no address. Expected ${EXAMPLE}.`)
  }
  // A password that is not encoded can look like these.
  if (url.hash !== '' || url.search !== '')
    throw new CommandError(EXIT.usage, `${source}: it contains # or ?. Expected ${EXAMPLE}.`, ENCODED)
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw wrong(source, url.protocol, EXAMPLE)
  return url
}

function needNoPassword(urls: readonly URL[]): void {
  if (urls.every(({ password }) => password === '')) return
  throw new CommandError(
    EXIT.usage,
    '--url: it contains a password, and all users of this machine can see the arguments of a process.',
    'Put the URL into the environment variable REDIS_URL, or only the password into REDIS_PASSWORD.',
  )
}

function decoded(part: string): string | undefined {
  if (part === '') return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function dbOf(source: string, { pathname }: URL, kind: Address['kind']): number {
  const text = pathname.replace(/^\//, '')
  if (text === '') return 0
  if (!/^\d{1,4}$/.test(text))
    throw new CommandError(
      EXIT.usage,
      `${source}: what follows the host is not the number of a database, such as /2.`,
      ENCODED,
    )
  if (kind === 'cluster' && Number(text) !== 0)
    throw new CommandError(EXIT.usage, `${source}: a cluster has only the database 0. Leave /${text} out.`)
  return Number(text)
}

function shownOf(
  urls: readonly URL[],
  nodes: Address['nodes'],
  { sentinel, hasPassword }: { readonly sentinel: string | undefined; readonly hasPassword: boolean },
): string {
  const shown = urls.map(({ protocol, username, pathname }, i) => {
    const { host, port } = nodes[i] as Address['nodes'][number]
    const name = hasPassword ? safeText(decoded(username) ?? '') : '…'
    const user = username === '' ? '' : `${name}@`
    const shownHost = host.includes(':') ? `[${host}]` : safeText(host)
    return `${protocol}//${user}${shownHost}:${port}${pathname === '/' ? '' : safeText(pathname)}`
  })
  return sentinel === undefined
    ? shown.join(',')
    : `${safeText(sentinel)} of the sentinels ${shown.join(',')}`
}
