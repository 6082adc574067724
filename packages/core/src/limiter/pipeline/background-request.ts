import type { Request } from '../../requests/request.js'
import type { Outcome } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import type { StoreAccess } from './store-access.js'
import type { Telling } from '../report/telling.js'

/**
 * Sends a request that no caller waits for. `onAnswer` gets no outcome if there was none: an error is reported here.
 *
 * @param onAnswer also gets when its batch was sent, in ms since the process started
 */
export function sendInBackground(
  store: StoreAccess,
  telling: Telling,
  request: Request,
  onAnswer: (outcome: Outcome | undefined, sentAtMs: number) => void,
): void {
  // Of an open breaker users have been told.
  if (store.refusal(request.shard)) return onAnswer(undefined, 0)
  void store.consume(request, (_, given, sentAtMs) => {
    const isAnswer = isOutcome(given, request)
    if (!isAnswer) telling.errorOf(given)
    onAnswer(isAnswer ? given : undefined, sentAtMs)
  })
}
