// The output of the tests is quiet. What a limiter warns of on purpose a test catches and checks, by a spy of its own on
// process.emitWarning. Any other warning of Tollgate fails the test.

/** Of troubles of a store or its client, which a busy machine may have in any test. They are not shown. */
const TROUBLES = new Set(['TOLLGATE_STORE', 'TOLLGATE_STORE_BACK', 'TOLLGATE_REDIS_CLIENT'])

let unexpected: string[] = []
const emit = process.emitWarning

process.emitWarning = ((text: string | Error, options?: { code?: string }, ...rest: unknown[]) => {
  const code = options?.code ?? ''
  if (!code.startsWith('TOLLGATE_')) return emit.call(process, text, options as never, ...(rest as []))
  if (!TROUBLES.has(code)) unexpected.push(`${code}: ${String(text)}`)
}) as typeof process.emitWarning

afterEach(() => {
  const [first, ...more] = unexpected
  unexpected = []
  if (first === undefined) return
  throw new Error(`A warning that the test did not catch (and ${more.length} more): ${first}`)
})
