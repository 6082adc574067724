import type { Redis } from 'ioredis'

/**
 * How many scripts a Redis ran, by `INFO commandstats`: without those that read rules, which every open limiter does once a second.
 * While there are no rules, each of these begins with the only HGET.
 */
export async function scriptCallsOf(client: Redis): Promise<number> {
  const stats = await client.info('commandstats')
  const callsOf = (command: string): number =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  return callsOf('evalsha') - callsOf('hget')
}
