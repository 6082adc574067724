import { isPromise, type MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import type { HttpAdapter } from './adapter.js'

/**
 * Decides a request that may wait in line for as long as its client is there. One that has left gives its place back, and ends
 * without an answer, since nobody reads one.
 *
 * @param ask      has it decided; rejects once the signal has aborted
 * @param conclude answers it
 */
export function whileHere<Req, Res>(
  { adapter, res }: { readonly adapter: HttpAdapter<Req, Res>; readonly res: Res },
  ask: (signal: AbortSignal) => MaybePromise<Decision>,
  conclude: (decision: Decision) => MaybePromise<boolean>,
): MaybePromise<boolean> {
  const leaving = new AbortController()
  adapter.onEnd(res, () => leaving.abort())
  const { signal } = leaving
  if (signal.aborted) return false
  const asked = ask(signal)
  if (!isPromise(asked)) return conclude(asked)
  return asked.then(conclude, (error: unknown) => {
    if (signal.aborted) return false
    throw error
  })
}
