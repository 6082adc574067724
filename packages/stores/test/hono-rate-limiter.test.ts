import { buildHono } from './apps/hono.ts'
import { open } from './apps/opened.ts'
import { dropInContract } from './drop-in-contract.ts'

describe('hono-rate-limiter', () => {
  dropInContract({
    open: (spec) => open(spec, buildHono),
    remaining: ({ headers }) => Number(/remaining=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
  })
})
