import type { Live } from './live.js'
import type { OverviewAnswer } from './answers.js'

/** Who follows is asked again so often whether they may, in ms. */
const ASK_AGAIN_MS = 60_000

/** Texts are made once for all who follow. */
const texts = new WeakMap<OverviewAnswer, Uint8Array>()
const encoder = new TextEncoder()

/** Otherwise nginx would hold events back. */
export const STREAM = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }

/**
 * Live figures as server-sent events: `overview` every two seconds, and `denied` before the stream ends because the operator may not look any more.
 *
 * @param mayLook asked again each minute. Never rejects
 */
export function stream(live: Live, mayLook: () => Promise<boolean>): Response {
  let [unfollow, asking]: [(() => void)?, NodeJS.Timeout?] = []
  let isOver = false
  const end = (): void => {
    isOver = true
    unfollow?.()
    clearTimeout(asking)
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const askLater = (): void => {
        asking = setTimeout(() => void ask(), ASK_AGAIN_MS)
        asking.unref()
      }
      // One at a time: the answer can take longer than a minute, and whoever follows can leave meanwhile.
      const ask = async (): Promise<void> => {
        const may = await mayLook()
        if (isOver) return
        if (may) return askLater()
        end()
        controller.enqueue(encoder.encode('event: denied\ndata: You may not look at this any more.\n\n'))
        controller.close()
      }
      askLater()
      unfollow = live.follow((overview) => {
        // Who does not read gets no more until they have: old figures are of no use.
        if (!isOver && (controller.desiredSize ?? 0) > 0) controller.enqueue(textOf(overview))
      })
    },
    cancel: end,
  })
  return new Response(body, { headers: STREAM })
}

function textOf(overview: OverviewAnswer): Uint8Array {
  const known = texts.get(overview)
  if (known) return known
  const made = encoder.encode(`event: overview\ndata: ${JSON.stringify(overview)}\n\n`)
  texts.set(overview, made)
  return made
}
