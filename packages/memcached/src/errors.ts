import { StoreError } from '@tollgate/core/store'

interface Reaction {
  readonly matches: RegExp
  readonly reason: StoreError['reason']
  readonly says: string
  readonly isOfRequest?: true
}

/** Errors from Memcached and from its clients; the first match counts. */
const REACTIONS: readonly Reaction[] = [
  {
    matches: /non-numeric|Non-numeric|INCR on non|not a counter of Tollgate/i,
    reason: 'foreign-value',
    says: "this request's key holds a value that Tollgate did not write: delete it, or give the store its own prefix",
    isOfRequest: true,
  },
  {
    matches: /out of memory|No memory/i,
    reason: 'out-of-memory',
    says: 'Memcached is full and may not evict (-M): raise its memory (-m), or let it evict',
  },
  {
    matches: /authenticat/i,
    reason: 'not-permitted',
    says: 'Memcached asks for a login: give memcachedStore a memjs client with username and password',
  },
  {
    matches: /^ERROR$|unknown command/i,
    reason: 'wrong-server',
    says: 'this server lacks a command; Tollgate needs Memcached 1.6.13 or newer, or a client of the package memjs or memcached',
  },
  {
    matches:
      /unknown response|is not a reply of Memcached|wrong version number|EPROTO|packet length too long/i,
    reason: 'protocol',
    says: 'what answered is not Memcached, or only one side uses TLS: check host and port',
  },
  {
    matches: /timed out|timeout|no reply/i,
    reason: 'timeout',
    says: 'Memcached did not answer in time: check whether it or the network hangs',
  },
  {
    matches: /ECONNREFUSED/,
    reason: 'unreachable',
    says: 'Memcached refused the connection: start it, or check the address',
  },
  {
    matches: /ENOTFOUND|EAI_AGAIN/,
    reason: 'unreachable',
    says: 'the Memcached host was not found: check its name',
  },
  {
    matches: /ECONN|EPIPE|ENOENT|EHOST|ENET|closed|not available|No servers|connect|socket/i,
    reason: 'unreachable',
    says: 'there is no connection to Memcached, or it was lost before the reply',
  },
]

/** An error from Memcached or from its client, as a store error. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const reaction = REACTIONS.find(({ matches }) => matches.test(text))
  if (!reaction) return new StoreError(`Memcached failed: ${text.slice(0, 200)}`, { cause: thrown })
  const { reason, says, isOfRequest = false } = reaction
  return new StoreError(`${says} (${text.slice(0, 200)})`, { reason, isOfRequest, cause: thrown })
}

/** The error for a counter with a value that Tollgate did not write. */
export function foreignValue(): StoreError {
  return storeErrorOf(new Error('not a counter of Tollgate'))
}
