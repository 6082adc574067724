import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@tollgate/testing/redis'

/** More keys than fit into the memory: each that is written evicts another. */
const CHUNKS = 60
const KEYS_A_CHUNK = 1000
const PAUSE_MS = 3

export interface Filler {
  stop(): Promise<void>
}

/**
 * Fills a Memcached with foreign keys, over and over. They have the size of Tollgate's counters: Memcached evicts among items
 * of one size.
 *
 * @returns once something was evicted
 */
export async function startFiller(port: number): Promise<Filler> {
  const socket = connect(port, '127.0.0.1')
  let told = ''
  socket.on('data', (data) => (told = (told + data.toString()).slice(-10_000)))
  await once(socket, 'connect')
  let isOver = false
  const chunks = Array.from({ length: CHUNKS }, (_, i) => chunkOf(i))
  const done = (async () => {
    for (let i = 0; !isOver; i += 1) {
      if (!socket.write(chunks[i % CHUNKS] as string)) await once(socket, 'drain')
      await sleep(PAUSE_MS)
    }
    socket.destroy()
  })()
  await eventually(() => {
    socket.write('stats\r\n')
    return /STAT evictions [1-9]/.test(told)
  })
  return {
    stop: () => {
      isOver = true
      return done
    },
  }
}

function chunkOf(i: number): string {
  let text = ''
  for (let j = 0; j < KEYS_A_CHUNK; j += 1) {
    // q: no reply.
    text += `ms somebody-else/of-some-length-${i * KEYS_A_CHUNK + j} 16 T60 q\r\n0123456789abcdef\r\n`
  }
  return text
}
