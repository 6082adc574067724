import { buildExpress } from './apps/express.ts'
import { open } from './apps/opened.ts'
import { dropInContract } from './drop-in-contract.ts'

describe('express-rate-limit', () => {
  dropInContract({
    open: (spec) => open(spec, buildExpress),
    remaining: ({ headers }) => Number(/remaining=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
    isWhole: true,
  })
})
