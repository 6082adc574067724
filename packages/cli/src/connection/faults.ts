import { CommandError, EXIT } from '../errors.js'
import { safeLine } from '../output/safe-text.js'
import type { Address } from './address.js'

/** What can be wrong with a connection. */
export type FaultKind = 'unreachable' | 'silent' | 'protocol' | 'login' | 'rights' | 'state' | 'other'

/** What an error of Redis or of the client means, and what to do. */
export interface Fault {
  readonly kind: FaultKind
  readonly says: string
  readonly hint: string
}

interface Meaning {
  readonly matches: RegExp
  readonly kind: FaultKind
  says(address: Address): string
  readonly hint: string
}

const MEANINGS: readonly Meaning[] = [
  {
    matches: /ECONNREFUSED/,
    kind: 'unreachable',
    says: ({ shown }) => `Nothing listens at ${shown}.`,
    hint: 'Start Redis, or pass its address: REDIS_URL=redis://HOST:PORT, or --url.',
  },
  {
    matches: /ENOTFOUND|EAI_AGAIN/,
    kind: 'unreachable',
    says: ({ shown }) => `The host of ${shown} is not known.`,
    hint: 'Check its name. Inside a container or a cluster, other names hold.',
  },
  {
    matches: /\bWRONGPASS\b|invalid password|without any password configured/,
    kind: 'login',
    says: ({ shown }) => `${shown} refused the user name or password.`,
    hint: 'Check both in REDIS_URL, where special characters need their %-form, or in REDIS_PASSWORD.',
  },
  {
    matches: /\bNOAUTH\b|unauthenticated (multi)?bulk/,
    kind: 'login',
    says: ({ shown }) => `${shown} asks for a password.`,
    hint: 'Set REDIS_URL=redis://USER:PASSWORD@HOST:PORT, or REDIS_PASSWORD.',
  },
  {
    matches: /DENIED Redis is running in protected mode/,
    kind: 'login',
    says: ({ shown }) => `${shown} is in protected mode, so it answers only its own machine.`,
    hint: 'Give its users passwords, then CONFIG SET protected-mode no.',
  },
  {
    matches: /CERT_HAS_EXPIRED|certificate has expired|CERT_NOT_YET_VALID|certificate is not yet valid/,
    kind: 'protocol',
    says: ({ shown }) =>
      `The TLS certificate of ${shown} is not valid now: its time is over, or has not come.`,
    hint: 'Renew it, or set the clock of this machine right: openssl x509 -dates shows until when it is valid.',
  },
  {
    matches: /certificate|self.signed|CERT_|ERR_TLS|Hostname\/IP does not match|unable to (get|verify)/i,
    kind: 'protocol',
    says: ({ shown }) => `The TLS certificate of ${shown} is not trusted here.`,
    hint: 'Pass the certificate of its authority: --tls-ca ca.pem. The host must be named in the certificate.',
  },
  {
    matches:
      /Protocol error|before secure TLS connection|Unknown RESP type|wrong version number|packet length too long|EPROTO/i,
    kind: 'protocol',
    says: ({ shown }) =>
      `What listens at ${shown} does not speak Redis's protocol, or only one side uses TLS.`,
    hint: 'Check host and port. With TLS, write rediss:// instead of redis://.',
  },
  {
    matches: /\bNOPERM\b|The user executing the script can't/,
    kind: 'rights',
    says: ({ shown }) => `The user of ${shown} may not do this.`,
    hint: 'tollgate doctor prints the rights that are missing.',
  },
  {
    matches: /\bCLUSTERDOWN\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} is a node of a cluster that does not serve all slots.`,
    hint: 'See redis-cli --cluster check HOST:PORT, and the logs of its nodes. Then pass --cluster.',
  },
  {
    matches: /unknown command '?time/i,
    kind: 'state',
    says: ({ shown }) => `${shown} is a sentinel, or no Redis: it does not know the command TIME.`,
    hint: 'For a sentinel, pass --sentinel NAME: SENTINEL MASTERS lists the names.',
  },
  {
    matches: /\b(MOVED|ASK|CROSSSLOT)\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} is a node of a cluster.`,
    hint: 'Pass --cluster.',
  },
  {
    matches: /cluster support disabled|Failed to refresh slots cache|None of startup nodes/i,
    kind: 'state',
    says: ({ shown }) => `${shown} answers nothing about a cluster.`,
    hint: 'Without a cluster, leave --cluster out. Otherwise start its nodes, and run tollgate doctor against one of them.',
  },
  {
    matches: /sentinels are unreachable|No available|sentinel.* (no|not)/i,
    kind: 'unreachable',
    says: ({ shown }) => `No sentinel names a primary: ${shown}.`,
    hint: 'Check the addresses of the sentinels and the name of the primary: SENTINEL MASTERS lists the names.',
  },
  {
    matches: /\b(READONLY|MASTERDOWN)\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} is a replica.`,
    hint: 'Pass the address of its primary, or --sentinel NAME.',
  },
  {
    matches: /\b(MISCONF|NOREPLICAS)\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} accepts no writes until its disk or its replicas work again.`,
    hint: 'See its log.',
  },
  {
    matches: /\bLOADING\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} is loading its data from disk.`,
    hint: 'Try again once it is done.',
  },
  {
    matches: /\bBUSY\b|max number of clients/,
    kind: 'state',
    says: ({ shown }) => `${shown} is busy with a script, or has reached its maxclients.`,
    hint: 'See SLOWLOG GET and CLIENT LIST.',
  },
  {
    matches: /\bOOM\b/,
    kind: 'state',
    says: ({ shown }) => `${shown} is full.`,
    hint: 'Raise maxmemory, or give Tollgate its own Redis.',
  },
  {
    matches: /did not answer|timed? ?out|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/i,
    kind: 'silent',
    says: ({ shown }) => `${shown} did not answer in time.`,
    hint: 'Check the address, firewalls, and that both sides use TLS or none. If Redis hangs, see its log.',
  },
  {
    matches: /ECONN|EPIPE|closed|connection/i,
    kind: 'unreachable',
    says: ({ shown }) => `${shown} closed the connection.`,
    hint: 'Check that it is Redis, that both sides use TLS or none, and that it has not reached its maxclients.',
  },
]

/** What an error means. Its own text is shown only if it is not known, since it can contain what an operator typed. */
export function faultOf(thrown: unknown, address: Address): Fault {
  const text = textOf(thrown)
  const found = MEANINGS.find(({ matches }) => matches.test(text))
  if (found) return { kind: found.kind, says: found.says(address), hint: found.hint }
  const { password } = address
  const said = safeLine(password ? text.replaceAll(password, '***') : text).slice(0, 200)
  return {
    kind: 'other',
    says: `${address.shown} answered: ${said}`,
    hint: 'tollgate doctor finds out more.',
  }
}

/** Clients hide the cause of a lost connection in other errors. */
function textOf(thrown: unknown): string {
  const parts: string[] = []
  for (let one = thrown, depth = 0; one && depth < 5; depth += 1) {
    const { message, code, lastNodeError, cause, errors } = one as Error & {
      readonly code?: string
      readonly lastNodeError?: unknown
      readonly errors?: readonly unknown[]
    }
    parts.push(code ?? '', message ?? (typeof one === 'string' ? one : ''))
    one = lastNodeError ?? cause ?? errors?.[0]
  }
  return parts.join(' ')
}

export function connectionError(thrown: unknown, address: Address): CommandError {
  const { says, hint } = faultOf(thrown, address)
  return new CommandError(EXIT.store, says, hint)
}
