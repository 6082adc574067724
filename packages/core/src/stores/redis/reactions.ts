import type { StoreErrorReason } from '../../base/errors.js'

/** The commands that the scripts and `reset` use: a Redis user needs permission for these and no others. */
export const COMMANDS = ['evalsha', 'eval', 'get', 'mget', 'set', 'setrange', 'time', 'del'] as const

export interface Reaction {
  readonly matches: RegExp
  readonly reason: StoreErrorReason
  /** What the error means and what to do. */
  readonly says: string
  readonly isOfRequest?: true
}

/** All that is known of a lost connection. What the client said of itself can say more. */
export const LOST =
  'there is no connection to Redis, or it was lost before the reply; the client reconnects by itself'

/** A server that is full says so, but some clients write once more before they read it, and never see it. */
export const CLOSED_AT_ONCE =
  'Redis closes new connections at once: it has as many clients as its maxclients allows (CLIENT LIST), or only one side uses TLS'

export const RULE = `ACL SETUSER name ~PREFIX/* ${COMMANDS.map((command) => `+${command}`).join(' ')}`

/** Errors of Redis and of clients; the first match counts. A request is sent again after NOSCRIPT only. */
export const REACTIONS: readonly Reaction[] = [
  {
    matches: /\bNOSCRIPT\b/,
    reason: 'script-missing',
    says: 'Redis keeps losing the script; the next request sends it again',
  },
  {
    matches: /\b(WRONGTYPE|FOREIGN)\b/,
    reason: 'foreign-value',
    says: 'the key of this request holds a value that Tollgate did not write; delete it, or give the store its own prefix',
    isOfRequest: true,
  },
  {
    matches: /\bformat \d+, this one writes \d+/,
    reason: 'foreign-value',
    says: 'run one version in all processes, or give this one its own prefix: the value of this request was written by another version of Tollgate',
    isOfRequest: true,
  },
  {
    matches: /\bOOM\b/,
    reason: 'out-of-memory',
    says: 'Redis is full: raise maxmemory, or give Tollgate its own Redis; with a maxmemory-policy that evicts keys, subjects get their quota anew',
  },
  {
    matches: /\b(NOPERM|The user executing the script can't)/,
    reason: 'not-permitted',
    says: `Redis does not allow this to the client's user; allow all that is needed with: ${RULE}`,
  },
  {
    // The second is for a command of many arguments.
    matches: /\bNOAUTH\b|unauthenticated (multi)?bulk/,
    reason: 'not-permitted',
    says: 'Redis asks for a password, and this client gave none or a wrong one: check the one in its URL, or its option password',
  },
  {
    matches: /\b(WRONGPASS|invalid password|without any password configured)/,
    reason: 'not-permitted',
    says: 'Redis refused the username or password of this client: check those in its URL, or its options username and password',
  },
  {
    matches: /\b(READONLY|MASTERDOWN)\b|Write commands are not allowed/,
    reason: 'read-only',
    says: 'this Redis is a replica: connect to the primary, by Sentinel or a Cluster client if it moves; by Sentinel ioredis follows it with failoverDetector: true, node-redis with scanInterval: 1000',
  },
  {
    matches: /\b(MISCONF|NOREPLICAS)\b/,
    reason: 'read-only',
    says: 'Redis accepts no writes until its disk or its replicas work again: see its log',
  },
  {
    matches: /\bLOADING\b/,
    reason: 'loading',
    says: 'Redis is reading its data from disk and answers once it is done',
  },
  {
    matches: /\bBUSY\b|Script killed/,
    reason: 'busy',
    says: 'Redis is held up by a script: see SLOWLOG GET',
  },
  {
    matches: /max number of clients/,
    reason: 'busy',
    says: 'Redis has as many clients as its maxclients allows: close some (CLIENT LIST), or raise it',
  },
  {
    matches: /\b(CLUSTERDOWN|TRYAGAIN)\b|cluster redirections|slots cache/i,
    reason: 'cluster-down',
    says: 'the cluster does not serve this slot now; it does once it has settled',
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
    says: 'Redis did not answer in the time that the client gives it: see SLOWLOG GET, or raise its commandTimeout',
  },
  {
    matches: /ECONNREFUSED/,
    reason: 'unreachable',
    says: "Redis refused the connection: start it, or check the address in the client's options",
  },
  {
    matches: /ENOTFOUND|EAI_AGAIN/,
    reason: 'unreachable',
    says: "the host of Redis was not found: check its name in the client's options",
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
    // Keep this last: it matches every error inside a script that nothing above matches. The scripts fail only at
    // values that they did not write.
    matches: /user_script/,
    reason: 'foreign-value',
    says: 'the key of this request holds a value that is damaged; delete it',
    isOfRequest: true,
  },
]
