import { ConfigError, type StoreError } from '../base/errors.js'
import { quiet } from '../base/promises.js'
import type { Subject } from './subject.js'

/**
 * What happens to requests while the store does not answer.
 * - `local`: this process limits them alone, each subject to its share of the plan.
 * - `open`: they pass.
 * - `closed`: they are denied with 503.
 */
export type FailurePolicy = 'local' | 'open' | 'closed'

/**
 * One policy for all subjects, or a function that chooses by subject and error. It is called for each subject of a request that the
 * store did not decide, so it must be quick.
 */
export type FailurePolicyOption = FailurePolicy | ((subject: Subject, error: StoreError) => FailurePolicy)

const POLICIES: readonly unknown[] = ['local', 'open', 'closed'] satisfies FailurePolicy[]
const NAMES = "'local', 'open' or 'closed'"

/** @throws {ConfigError} when it is not a policy */
function needPolicy(path: string, given: unknown): asserts given is FailurePolicy {
  if (!POLICIES.includes(given)) throw ConfigError.wrong(path, given, NAMES)
}

/** @throws {ConfigError} when it is neither a policy nor a function */
export function needPolicyOption(path: string, given: unknown): asserts given is FailurePolicyOption {
  if (typeof given === 'function' || POLICIES.includes(given)) return
  throw ConfigError.wrong(path, given, `${NAMES}, or a function that returns one of them`)
}

/** The policy for a subject. Throws what the user's function throws, and a ConfigError if it returns no policy. */
export function choosePolicy(
  option: FailurePolicyOption,
  subject: Subject,
  error: StoreError,
): FailurePolicy {
  if (typeof option !== 'function') return option
  const chosen = option(subject, error)
  // The policy is used at once, so a promise of one is refused, and nothing awaits it.
  quiet(chosen)
  needPolicy('what onStoreFailure returned', chosen)
  return chosen
}
