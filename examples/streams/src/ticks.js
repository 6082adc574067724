import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** Server-sent events: a number every 100 ms, `count` of them. */
export function ticks(count = Infinity) {
  return Readable.from(events(count))
}

async function* events(count) {
  for (let i = 1; i <= count; i += 1) {
    yield `data: ${i}\n\n`
    await sleep(100)
  }
}
