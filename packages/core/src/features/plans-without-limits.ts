import type { Feature } from '../requests/feature.js'

/** Answers for plans that count nothing: those without limits allow, and those that are `blocked` deny. */
export const plansWithoutLimits: Feature = {
  answer(request) {
    if (request.parts.length > 0) return undefined
    const isBlocked = request.isBlocked ?? false
    return { source: isBlocked ? 'blocked' : 'unlimited', allowed: !isBlocked, step: request }
  },
}
