import type { ErrorCode } from '@tollgate/core'
import { safeText } from './output/safe-text.js'

/** What the process ends with. `tollgate --help` lists the same. */
export const EXIT = { done: 0, refused: 1, usage: 2, store: 3 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends the command. The message is for the person at the terminal, and has no text of others that was not made safe. */
export class CommandError extends Error {
  readonly exit: ExitCode
  /** What to type instead. */
  readonly hint: string | undefined

  constructor(exit: ExitCode, message: string, hint?: string) {
    super(message)
    this.name = 'CommandError'
    this.exit = exit
    this.hint = hint
  }
}

/** An argument or option is wrong. */
export function wrong(what: string, given: unknown, expected: string): CommandError {
  return new CommandError(EXIT.usage, `${what}: got '${safeText(String(given))}', expected ${expected}.`)
}

/** What errors of core mean for a command line. */
const EXIT_OF: { readonly [Code in ErrorCode]: ExitCode } = {
  ERR_TOLLGATE_CONFIG: EXIT.usage,
  ERR_TOLLGATE_SUBJECT: EXIT.usage,
  ERR_TOLLGATE_COST: EXIT.usage,
  ERR_TOLLGATE_PLAN: EXIT.refused,
  ERR_TOLLGATE_KEY: EXIT.refused,
  ERR_TOLLGATE_TOO_MANY_KEYS: EXIT.refused,
  ERR_TOLLGATE_DECISION: EXIT.refused,
  ERR_TOLLGATE_REFERENCE: EXIT.refused,
  ERR_TOLLGATE_LIMITED: EXIT.refused,
  ERR_TOLLGATE_STORE: EXIT.store,
  ERR_TOLLGATE_STORE_TIMEOUT: EXIT.store,
  ERR_TOLLGATE_CLOSED: EXIT.store,
}

/** Options of core that have the same name here. Others, such as `plans.free[0]`, are in the plans file. */
const OPTIONS: readonly string[] = [
  ...['for', 'until', 'by', 'reason', 'factor', 'concurrentFactor', 'limits'],
  ...['limit', 'units', 'key', 'plan', 'prefix', 'shards', 'name'],
]

/** Makes any thrown value an error for the person at the terminal. */
export function toCommandError(thrown: unknown): CommandError {
  if (thrown instanceof CommandError) return thrown
  const { code, message, path } = (thrown ?? {}) as Partial<Error> & { code?: unknown; path?: unknown }
  // Core speaks to programmers, who can also pass a Date.
  const text = safeText(String(message ?? thrown), 600).replace(/ or a Date$/, '')
  if (typeof code !== 'string' || !Object.hasOwn(EXIT_OF, code))
    return new CommandError(EXIT.refused, `This failed unexpectedly: ${text}`)
  const ofSubject = text.replace(/^subject\.(?=(?:anchor|timeZone): )/, '')
  const isOption = ofSubject !== text || (typeof path === 'string' && OPTIONS.includes(path))
  const said = isOption ? `--${dashed(ofSubject)}` : text
  return new CommandError(EXIT_OF[code as ErrorCode], `${said.replace(/[.]$/, '')}.`)
}

/** `concurrentFactor: got 0` as an option: `concurrent-factor: got 0`. */
function dashed(text: string): string {
  return text.replace(/^\w+/, (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
}
