// Warnings of a limiter: said once through Node's process warnings, each with a code, and silenced by `warnings: false`.
import { createLimiter, type LimiterOptions } from '../../src/index.js'
import type { WarningCode } from '../../src/base/warnings.js'
import { asyncStore } from '../support/stores.js'

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

const boom = (): never => {
  throw new Error('boom')
}
const failing = asyncStore({ consume: () => Promise.reject(new Error('down')) })

/** The codes of what was said by then. */
function codes(): string[] {
  return emitted.mock.calls.map(([, { code }]: [string, { code: string }]) => code)
}

const CAUSES: [code: WarningCode, options: LimiterOptions][] = [
  ['TOLLGATE_LISTENER', { limit: '1/min' }],
  ['TOLLGATE_POLICY', { limit: '1/min', store: failing, onStoreFailure: boom }],
]

test.each(CAUSES)('%s is said, and not with warnings: false', async (code, options) => {
  const ask = async (warnings: boolean): Promise<void> => {
    const limiter = createLimiter({ ...options, warnings })
    if (code === 'TOLLGATE_LISTENER') limiter.on('decision', boom)
    await limiter.consume('acme')
    await limiter.close()
  }
  await ask(false)
  expect(codes()).toEqual([])
  await ask(true)
  expect(codes()).toContain(code)
})
