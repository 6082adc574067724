import type { ChangeBody, RuleAnswer } from '../../src/answers.ts'
import { looksLikeAddress } from '../route.ts'

export function liftBody({ kind, of, level }: RuleAnswer): ChangeBody {
  if (kind === 'scale') return { kind: 'lift', lifts: kind, plan: of }
  if (of.endsWith('*')) return { kind: 'lift', lifts: kind, id: of.slice(0, -1), isPrefix: true }
  const whom = { id: of, ...(looksLikeAddress(of) && { isAddress: true }) }
  return level === undefined ? { kind: 'lift', lifts: kind, ...whom } : { kind: 'unblock', ...whom }
}
