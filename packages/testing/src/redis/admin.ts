import { Redis } from 'ioredis'

const ANSWERS_WITHIN_MS = 5000

/** Sends a server one command over a new connection, so that none stays open when a test forgets to stop. */
export async function ask(port: number, ...command: readonly (string | number)[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    commandTimeout: ANSWERS_WITHIN_MS,
    connectTimeout: ANSWERS_WITHIN_MS,
    // Short: after a second disconnect, ioredis keeps a timer for this long (2 s by default), and that keeps the
    // process alive.
    disconnectTimeout: 100,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.call(String(command[0]), ...command.slice(1))
  } finally {
    client.disconnect()
  }
}
