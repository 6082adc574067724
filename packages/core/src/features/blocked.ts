import type { FastPath } from './fast-path.js'

/** Denies subjects whose plan admits nothing. If one of several has such a plan, nothing is taken from the others. */
export const blocked: FastPath = {
  ofUncounted: true,
  answer: (step) => (step.isBlocked ? { source: 'blocked', allowed: false, step } : undefined),
}
