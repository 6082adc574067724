import { World } from './checker-world.js'
import { limitSet } from '../../src/plans/limit-set.js'
import { parseLimit } from '../../src/plans/limit.js'
const TERMS = { lengthUs: 20_000, share: 1, lagUs: Number(process.env['LAG'] ?? 0) }
const leased = (limits: any[]) =>
  limitSet(
    limits.map((l, i) => parseLimit(l, 'x')),
    TERMS,
  )
const limit = (algorithm: string, quota: number, window = '80ms') => ({
  quota,
  window,
  algorithm,
  name: `${algorithm} ${window}`,
})
test('x', () => {
  const a = process.env['ALG'] as string
  const two = process.env['TWO'] === '1'
  const make = (q: number) => leased(two ? [limit(a, q - 1, '50ms'), limit(a, q)] : [limit(a, q)])
  const w = new World({
    sets: [make(6), make(4)],
    unitsPerMs: 0.1,
    rare: 50,
    isCompared: process.env['CMP'] !== '0',
  }) as any
  for (const action of (process.env['TRACE'] as string).split(', ')) {
    const did = w.do(action)
    console.log(action, did, w.debug())
    w.judge()
  }
})
