// The program of packed.deep.test.ts that uses the entry for browsers, with the types of a page and none of Node.
import { importsOf } from './packed-imports.ts'

const PROGRAM = `
let nowMs = 0
const limiter = createLimiter({ limit: ['2/s', '3/min'], store: memoryStore({ now: () => nowMs }) })
const all = []
for (const at of [0, 0, 0, 1000, 1000, 60000]) {
  nowMs = at
  all.push(limiter.consume('acme'))
}
Promise.all(all).then((decisions) => {
  const denied = decisions.filter(({ allowed }) => !allowed)
  const waits = denied.map((decision) => toHttpResponse(decision).headers['Retry-After'])
  console.log(decisions.map(({ allowed }) => (allowed ? 'yes' : 'no')).join(), waits.join())
})
`
const TYPED = `
export const hidden: string = document.title
export const input: LimitInput = { quota: 5, window: 'min' }
export const allowed = (decision: Decision): boolean => decision.allowed
// @ts-expect-error: no store on Redis
export type None = typeof import('@tollgate/core/browser').redisStore
`
const used = importsOf({ '@tollgate/core/browser': ['createLimiter', 'memoryStore', 'toHttpResponse'] })

export const BROWSER_PRINT = 'yes,yes,no,yes,no,yes 1,59\n'
export const BROWSER_FILES = {
  esm: used + PROGRAM,
  typed: `import type { Decision, LimitInput } from '@tollgate/core/browser'\n${used}${PROGRAM}${TYPED}`,
}
