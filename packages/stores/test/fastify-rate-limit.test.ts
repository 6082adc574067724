import { buildFastify } from './apps/fastify.ts'
import { open } from './apps/opened.ts'
import { dropInContract } from './drop-in-contract.ts'

describe('@fastify/rate-limit', () => {
  dropInContract({
    open: (spec) => open(spec, buildFastify),
    remaining: ({ headers }) => Number(headers.get('x-ratelimit-remaining')),
  })
})
