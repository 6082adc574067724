// The program of packed.deep.test.ts that uses what is made for authors of adapters and stores, for tests, and the store on Memcached.
import { importsOf, requiresOf, type Needs } from './packed-imports.ts'

/** A user's own adapter and store, with two requests to a limit of one, the checks for stores, and a store on Memcached. */
const FACES = `
const adapter = {
  framework: 'bare',
  trustSetting: 'none',
  method: () => 'GET',
  header: () => undefined,
  ip: () => '127.0.0.1',
  hasLeft: () => false,
  trustsProxy: () => false,
  attach: () => {},
  isSent: () => false,
  getHeader: () => undefined,
  setHeader: () => {},
  removeHeader: () => {},
  setStatus: () => 200,
  end: () => {},
  onEnd: () => {},
}
const main = async () => {
  const store = memoryStore()
  const http = createHttpLimiter(adapter, { limit: '1/min', store })
  const answers = [await http.admit({}, {}), await http.admit({}, {})]
  const limiter = createLimiter({ limit: '1/min', store: memcachedStore('127.0.0.1:1'), warnings: false })
  const { source } = await limiter.consume('acme')
  for (const { check } of storeContract(() => memoryStore())) await check()
  const tested = createTestLimiter({ limit: '1/min', store: failingStore(testClock().memoryStore()) })
  await tested.consume('acme')
  expectDenied(await tested.consume('acme'), { by: 'minute', source: 'store' })
  tested.clock.advance('1min')
  expectAllowed(await tested.consume('acme'))
  await tested.close()
  const mistakes = [
    () => createLimiter({ limit: '5' }),
    () => limiter.scope({ group: '' }),
    () => memoryStore({ maxSubjects: 0 }),
    () => memcachedStore(''),
    () => createHttpLimiter(adapter, { limit: '5' }),
    () => storeContract(Object('no function')),
    () => createTestLimiter({ limit: '5' }),
    () => testClock('tomorrow'),
  ]
  const frames = mistakes.map((make) => {
    try {
      make()
    } catch (error) {
      return Object(error).stack.split('\\n')[1]
    }
  })
  console.log(frames.filter((frame) => /[/\\\\]faces(-cjs)?\\.c?js:/.test(frame)).length, 'of', mistakes.length)
  console.log([...answers, channelFor('storeError'), store instanceof Object, new StoreError('down').reason, source].join())
}
void main()
`
const FACES_USED: Needs = {
  '@tollgate/core': ['StoreError', 'createLimiter'],
  '@tollgate/core/adapter': ['channelFor', 'createHttpLimiter'],
  '@tollgate/core/store': ['memoryStore'],
  '@tollgate/core/testing': [
    'createTestLimiter',
    'expectAllowed',
    'expectDenied',
    'failingStore',
    'testClock',
  ],
  '@tollgate/memcached': ['memcachedStore'],
  '@tollgate/store-contract': ['storeContract'],
}
export const FACES_PRINT = '8 of 8\ntrue,false,tollgate:store-error,true,unknown,local\n'
const FACES_TYPED = `
export const typed: HttpAdapter<object, object> = adapter
export const own: Store = memoryStore({ maxSubjects: 10 })
export const checks: readonly StoreCheck[] = storeContract(() => own, { passTime: (store, ms) => void [store, ms] })
export const memcached: Store = memcachedStore(['10.0.0.1:11211', '10.0.0.2'], { prefix: 'app' })
export const perhaps = (shared?: Store): object => createLimiter({ limit: '1/min', store: shared, name: undefined })
export const kit: TestLimiter<'free'> = createTestLimiter({ plans: { free: '1/min' }, defaultPlan: 'free' })
// @ts-expect-error: no time
export const never = (): object => testClock(true)
// @ts-expect-error: no server
export const nowhere = (): Store => memcachedStore(11211)
// @ts-expect-error: it cannot decide
export const wrong: Store = { synchronous: true }
`
const FACES_TYPES = `import type { HttpAdapter } from '@tollgate/core/adapter'
import type { Store } from '@tollgate/core/store'
import type { TestLimiter } from '@tollgate/core/testing'
import type { StoreCheck } from '@tollgate/store-contract'
`

export const FACES_FILES = {
  esm: importsOf(FACES_USED) + FACES,
  cjs: requiresOf(FACES_USED) + FACES,
  // In a .cts file, imports are compiled to require.
  typed: FACES_TYPES + importsOf(FACES_USED) + FACES + FACES_TYPED,
}
