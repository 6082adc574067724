import type { Live } from './live.js'
import type { OverviewAnswer } from './answers.js'

/** Who follows is asked again so often whether they may, in ms. */
const ASK_AGAIN_MS = 60_000

/** Texts are made once for all who follow. */
const texts = new WeakMap<OverviewAnswer, Uint8Array>()
const encoder = new TextEncoder()

/**
 * Live figures as server-sent events: `overview` every two seconds, and `denied` before the stream ends because the operator may not look any more.
 *
 * @param mayLook asked again each minute
 */
export function stream(live: Live, mayLook: () => Promise<boolean>): Response {
  let [unfollow, asking]: [(() => void)?, NodeJS.Timeout?] = []
  const end = (): void => {
    unfollow?.()
    clearInterval(asking)
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      unfollow = live.follow((overview) => {
        // Who does not read gets no more until they have: old figures are of no use.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(textOf(overview))
      })
      asking = setInterval(async () => {
        if (await mayLook()) return
        end()
        controller.enqueue(encoder.encode('event: denied\ndata: You may not look at this any more.\n\n'))
        controller.close()
      }, ASK_AGAIN_MS)
      asking.unref()
    },
    cancel: end,
  })
  // Otherwise nginx would hold events back.
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' } })
}

function textOf(overview: OverviewAnswer): Uint8Array {
  const known = texts.get(overview)
  if (known) return known
  const made = encoder.encode(`event: overview\ndata: ${JSON.stringify(overview)}\n\n`)
  texts.set(overview, made)
  return made
}
