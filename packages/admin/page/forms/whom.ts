import type { SubjectAnswer } from '../../src/answers.ts'
import { shortText } from '../words.ts'

interface Whom {
  readonly id: string
  readonly isAddress?: boolean
}

export function whomOf({ id, isAddress }: SubjectAnswer): Whom {
  return { id, ...(isAddress && { isAddress }) }
}

/** For what is booked on the limits that are shown: those of the plan that this page was asked for. */
export function accountOf(subject: SubjectAnswer): Whom & { readonly plan?: string } {
  const { plan, planFrom } = subject
  return { ...whomOf(subject), ...(planFrom === 'operator' && { plan }) }
}

export function reasonOf(reason: string): { readonly reason?: string } {
  const said = reason.trim()
  return said === '' ? {} : { reason: said }
}

/** A title has room for more of the id than a button. */
export function titleName({ id }: SubjectAnswer): string {
  return shortText(id, 40)
}

export function buttonName({ id }: SubjectAnswer): string {
  return shortText(id, 20)
}
