import type { FastPath } from './fast-path.js'

/** Subjects on a plan that lets nothing pass. Of several one is enough: nothing is taken from the others. */
export const blocked: FastPath = {
  answer: (step) => (step.isBlocked ? { source: 'blocked', allowed: false, step } : undefined),
}
