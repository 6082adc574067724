import { startNest, type NestProcess } from './apps/serve-nest.ts'
import { dropInContract } from './drop-in-contract.ts'

describe('@nestjs/throttler', () => {
  let nest: NestProcess
  beforeAll(() => {
    nest = startNest()
  })
  afterAll(() => nest.end())
  dropInContract({
    open: (spec) => nest.open(spec),
    remaining: ({ headers }) => Number(headers.get('x-ratelimit-remaining')),
  })
})
