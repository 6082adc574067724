import { createConnection } from 'node:net'
import { eventually } from '../eventually.ts'

export interface CommandsHeard {
  /** What the server has done since, as MONITOR writes it. */
  text(): string
  stop(): void
}

/** Hears all commands of a server. Not by ioredis, whose `monitor()` fails when a command of another test comes while it begins. */
export async function hearCommands(redisUrl: string): Promise<CommandsHeard> {
  const { hostname, port } = new URL(redisUrl)
  const monitor = createConnection(Number(port), hostname)
  let heard = ''
  monitor.on('data', (text: Buffer) => (heard += text.toString()))
  monitor.write('MONITOR\r\n')
  await eventually(() => heard.startsWith('+OK'), 'the server tells its commands')
  return { text: () => heard, stop: () => monitor.destroy() }
}
