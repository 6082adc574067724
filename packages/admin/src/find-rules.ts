import type { Limiter, Rule, Subject } from '@tollgate/core'

/**
 * The rules of one kind that are just about this subject, beginning of ids or plan. `limiter.rules({ of })` also has those of other
 * beginnings that a subject is under. For tools that lift rules.
 *
 * @param of as in `limiter.rules`; for `scale`, the name of a plan
 * @throws {StoreError} when the store does not answer
 * @example for (const rule of await findRules(limiter, 'override', 'acme')) await rule.lift({ by: 'ops' })
 */
export async function findRules(
  limiter: Limiter,
  kind: Rule['kind'],
  of: Subject | string,
): Promise<readonly Rule[]> {
  if (kind === 'scale')
    return (await listOf(limiter, undefined)).filter((rule) => rule.kind === kind && rule.of === of)
  const rules = (await listOf(limiter, of)).filter((rule) => rule.kind === kind)
  const id = typeof of === 'string' ? of : String(of.id)
  if (of === id && id.endsWith('*')) return rules
  // Both an id with a star at its end and the beginning of ids are shown with it.
  const ofBeginning = id.endsWith('*') ? (await listOf(limiter, id)).map(identityOf) : []
  // With hashed ids a rule says the hash, so what was asked for is what is meant.
  return rules.filter(
    (rule) => !rule.of.endsWith('*') || (rule.of === id && !ofBeginning.includes(identityOf(rule))),
  )
}

function identityOf({ kind, setAt, until }: Rule): string {
  return `${kind} ${setAt?.getTime()} ${until.getTime()}`
}

async function listOf(limiter: Limiter, of: Subject | string | undefined): Promise<Rule[]> {
  const rules: Rule[] = []
  for await (const rule of limiter.rules({ of })) rules.push(rule)
  return rules
}
