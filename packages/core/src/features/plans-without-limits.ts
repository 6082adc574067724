import type { FastPath } from './fast-path.js'

/** Allows subjects whose plan has no limits. Nothing is counted for them. */
export const unlimited: FastPath = {
  ofUncounted: true,
  answer: (step) => (step.parts.length === 0 ? { source: 'unlimited', allowed: true, step } : undefined),
}

/** Denies subjects whose plan admits nothing. If one of several has such a plan, nothing is taken from the others. */
export const blocked: FastPath = {
  ofUncounted: true,
  answer: (step) => (step.isBlocked ? { source: 'blocked', allowed: false, step } : undefined),
}
