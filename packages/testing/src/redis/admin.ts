import { Redis } from 'ioredis'

const ANSWERS_WITHIN_MS = 5000

/** Sends one command over a new connection and closes it, so that no connection stays open when a test fails. */
export async function ask(port: number, ...command: readonly (string | number)[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    commandTimeout: ANSWERS_WITHIN_MS,
    connectTimeout: ANSWERS_WITHIN_MS,
    // ioredis's disconnect timer outlives a client that is closed twice, and would keep the process running for 2 s.
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
