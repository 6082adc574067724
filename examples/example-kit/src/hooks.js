// Module hooks: where the program of an example imports Tollgate, it gets the limiters and stores of patient.js.
const TOLLGATE = /^@tollgate\/(?:core|express|fastify|koa)$/
const EXAMPLE = /\/examples\/[\w-]+\/src\/[\w-]+\.js$/
const MARK = '?patient'

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context)
  const isOurs = TOLLGATE.test(specifier) && EXAMPLE.test(context.parentURL ?? '')
  return isOurs ? { ...found, url: found.url + MARK } : found
}

export function load(url, context, next) {
  if (!url.endsWith(MARK)) return next(url, context)
  const real = JSON.stringify(url.slice(0, -MARK.length))
  const patient = JSON.stringify(new URL('patient.js', import.meta.url).href)
  const source = `
    import * as real from ${real}
    import { patient } from ${patient}
    export * from ${real}
    export const { createLimiter, redisStore } = patient(real)`
  return { format: 'module', shortCircuit: true, source }
}
