import type { StoreErrorReason } from '../../base/errors.js'

/** The commands that decisions and `reset` use. A Redis user needs permission for these. */
const TO_DECIDE = ['evalsha', 'eval', 'get', 'mget', 'set', 'setrange', 'time', 'del'] as const

/** The commands that rules, traffic figures and logs use besides. */
export const FOR_RULES = [
  ...(['hget', 'hset', 'hdel', 'pexpire'] as const),
  ...(['zadd', 'zcard', 'zrange', 'zrem', 'zremrangebyrank', 'zremrangebyscore', 'zscore'] as const),
]

/** All commands that Tollgate uses. A Redis user needs no others. */
export const COMMANDS = [...TO_DECIDE, ...FOR_RULES] as const

export interface Reaction {
  readonly matches: RegExp
  readonly reason: StoreErrorReason
  /** What the error means and what to do. */
  readonly says: string
  readonly isOfRequest?: true
}

/** All that a lost connection says. What the client reported itself can say more. */
export const LOST =
  'there is no connection to Redis, or it was lost before the reply; the client reconnects by itself'

/** A server with too many clients says so. But some clients write once more before they read that, and never see it. */
export const CLOSED_AT_ONCE =
  'Redis closes new connections at once: it has reached its maxclients (see CLIENT LIST), or only one side uses TLS'

export const RULE = `ACL SETUSER name ~PREFIX/* ${COMMANDS.map((command) => `+${command}`).join(' ')}`

/** Errors from Redis and from clients; the first match counts. A request is sent again only after NOSCRIPT. */
export const REACTIONS: readonly Reaction[] = [
  {
    matches: /\bNOSCRIPT\b/,
    reason: 'script-missing',
    says: 'Redis keeps losing the script; the next request sends it again',
  },
  {
    matches: /\b(WRONGTYPE|FOREIGN)\b/,
    reason: 'foreign-value',
    says: "this request's key holds a value that Tollgate did not write: delete it, or give the store its own prefix",
    isOfRequest: true,
  },
  {
    matches: /\bformat \d+, this one writes \d+/,
    reason: 'foreign-value',
    says: "another version of Tollgate wrote this request's value: run one version in all processes, or give this one its own prefix",
    isOfRequest: true,
  },
  {
    matches: /\bOOM\b/,
    reason: 'out-of-memory',
    says: 'Redis is full: raise maxmemory, or give Tollgate its own Redis. Do not let it evict keys: that gives subjects their quota back',
  },
  {
    matches: /\b(NOPERM|The user executing the script can't)/,
    reason: 'not-permitted',
    says: `Redis does not permit this command to the client's user. Permit all that Tollgate needs: ${RULE}`,
  },
  {
    // The second form is for a command with many arguments.
    matches: /\bNOAUTH\b|unauthenticated (multi)?bulk/,
    reason: 'not-permitted',
    says: 'Redis asks for a password, and this client sent none or a wrong one: check the password in its URL or options',
  },
  {
    matches: /\b(WRONGPASS|invalid password|without any password configured)/,
    reason: 'not-permitted',
    says: 'Redis refused the username or password of this client: check them in its URL or options',
  },
  {
    matches: /\b(READONLY|MASTERDOWN)\b|Write commands are not allowed/,
    reason: 'read-only',
    says: 'this Redis is a replica: connect to the primary, with Sentinel or a cluster client if it moves. With Sentinel, ioredis follows it if failoverDetector is true, and node-redis if scanInterval is 1000',
  },
  {
    matches: /\b(MISCONF|NOREPLICAS)\b/,
    reason: 'read-only',
    says: 'Redis accepts no writes until its disk or replicas work again: see its log',
  },
  {
    matches: /\bLOADING\b/,
    reason: 'loading',
    says: 'Redis is loading its data from disk, and answers once it is done',
  },
  {
    matches: /\bBUSY\b|Script killed/,
    reason: 'busy',
    says: 'a script blocks Redis: see SLOWLOG GET',
  },
  {
    matches: /max number of clients/,
    reason: 'busy',
    says: 'Redis has reached its maxclients: close some clients (see CLIENT LIST), or raise it',
  },
  {
    matches: /\b(CLUSTERDOWN|TRYAGAIN)\b|cluster redirections|slots cache/i,
    reason: 'cluster-down',
    says: 'the cluster does not serve this slot until it has settled',
  },
  {
    matches: /\b(MOVED|ASK|CROSSSLOT)\b/,
    reason: 'wrong-server',
    says: 'this Redis belongs to a cluster: give redisStore a cluster client (new Cluster(nodes), createCluster)',
  },
  {
    matches: /unknown command|unknown subcommand|NOPROTO/i,
    reason: 'wrong-server',
    says: 'this server lacks a command; Tollgate needs Redis 6.2 or newer, or Valkey, with scripts',
  },
  {
    matches:
      /Protocol error|before secure TLS connection|Unknown RESP type|wrong version number|packet length too long|EPROTO/i,
    reason: 'protocol',
    says: 'the server is not Redis, or only one side uses TLS: check host, port and tls',
  },
  {
    matches: /client (is|was) closed|Disconnects client|client has been closed/i,
    reason: 'closed',
    says: 'the Redis client is closed: close it after the limiter',
  },
  {
    matches: /timed out|socket timeout|\bTimeoutError/i,
    reason: 'timeout',
    says: "Redis did not answer within the client's own time limit: see SLOWLOG GET, or raise the client's commandTimeout",
  },
  {
    matches: /ECONNREFUSED/,
    reason: 'unreachable',
    says: "Redis refused the connection: start it, or check the address in the client's options",
  },
  {
    matches: /ENOTFOUND|EAI_AGAIN/,
    reason: 'unreachable',
    says: "the Redis host was not found: check its name in the client's options",
  },
  {
    matches: /ETIMEDOUT|Connection timeout|EHOSTUNREACH|ENETUNREACH/,
    reason: 'unreachable',
    says: "Redis cannot be reached: check the address in the client's options, firewalls, and that both sides use TLS or none",
  },
  {
    matches:
      /ECONN|EPIPE|ENOENT|connection (is|was|to)|connection close|socket|writeable|offline|max retries|isn't ready|root nodes|startup nodes|unreachable|no valid master|not connected/i,
    reason: 'unreachable',
    says: LOST,
  },
  {
    // Keep this last: it matches every error inside a script that nothing above matches. Scripts fail only on values that they
    // did not write.
    matches: /user_script/,
    reason: 'foreign-value',
    says: "this request's key holds a damaged value: delete it",
    isOfRequest: true,
  },
]
