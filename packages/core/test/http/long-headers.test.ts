// Names of limits and labels may come from a database, in any script, and there may be many of them. Clients and proxies refuse
// responses with more than some kB of headers: Node 16 kB in all.
import { toHttpResponse, createLimiter, type Decision, type Subject } from '../../src/index.js'
import { asServedFromLease } from '../support/leased.js'

const MOST = 4096
const SCRIPTS = { ASCII: 'x', Chinese: '限', emoji: '🚦', percent: '%' } as const

/** 32 limits with the longest names that there can be, the last of which is the closest to denying. */
const limitsNamed = (sign: string): object[] =>
  Array.from({ length: 32 }, (_, i) => {
    const name = `${i}`.padStart(2, '0') + sign.repeat(62 / sign.length)
    return { quota: 1e12 - i, window: '3000 d', name }
  })
const subject = (id: string, sign: string, label?: string): Subject =>
  ({ id, limits: limitsNamed(sign), label }) as Subject

/** The names in a header, in their order. */
const namesIn = (header = ''): string[] =>
  [...header.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, name = '']) => name)

test.each(Object.entries(SCRIPTS))(
  'names in %s: both headers stay small and name the same limits',
  async (_, sign) => {
    const limiter = createLimiter({ limit: '1/min' })
    const eight = Array.from({ length: 8 }, (_one, i) =>
      subject(`id-${i}`, sign, sign.repeat(64 / sign.length)),
    )
    for (const who of [subject('acme', sign), eight]) {
      const { headers } = toHttpResponse(await limiter.consume(who as Subject))
      const [policy = '', standing = ''] = [headers['RateLimit-Policy'], headers['RateLimit']]
      expect([policy.length, standing.length].every((length) => length > 500 && length <= MOST)).toBe(true)
      expect(namesIn(standing)).toEqual(namesIn(policy))
      expect(new Set(namesIn(policy)).size).toBe(namesIn(policy).length)
      expect(policy).toMatch(/^("[\x20-\x7e]+?";q=\d+;w=\d+(, |$))+$/)
      expect(headers['RateLimit-Remaining']).toMatch(/^\d+$/)
    }
  },
)

test('what denied is named, and then what has the least left, each in its place', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  const limits = limitsNamed('限')
  limits[3] = { ...limits[3], quota: 3 }
  limits[17] = { ...limits[17], quota: 2 }
  const acme = { id: 'acme', limits } as Subject
  const decisions: Decision[] = []
  for (let i = 0; i < 3; i += 1) decisions.push(await limiter.consume(acme))
  const numbersOf = (decision: Decision | undefined): string[] =>
    namesIn(toHttpResponse(decision as Decision).headers['RateLimit']).map((name) => name.slice(0, 2))
  // Six fit: the closest two, and the last of the others, whose quotas are the smallest.
  expect(numbersOf(decisions[0])).toEqual(['03', '17', '28', '29', '30', '31'])
  expect([decisions[2]?.allowed, numbersOf(decisions[2])]).toEqual([
    false,
    ['03', '17', '28', '29', '30', '31'],
  ])
  expect(toHttpResponse(decisions[2] as Decision).body).toContain('17%E9%99%90')
})

test('a decision without numbers has a policy of the same size', async () => {
  const decision = await createLimiter({ limit: '1/min' }).consume(subject('acme', '限'))
  const { headers } = toHttpResponse(asServedFromLease(decision))
  const policy = headers['RateLimit-Policy'] ?? ''
  expect([headers['RateLimit'], policy.length <= MOST]).toEqual([undefined, true])
  expect(namesIn(policy).map((name) => name.slice(0, 2))).toEqual(['00', '01', '02', '03', '04', '05'])
})

test('names that fit are all there', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  const limits = Array.from({ length: 32 }, (_, i) => `${i + 1}/${i + 1}min`)
  const { headers } = toHttpResponse(await limiter.consume({ id: 'acme', limits }))
  expect([namesIn(headers['RateLimit-Policy']).length, namesIn(headers['RateLimit']).length]).toEqual([
    32, 32,
  ])
})
