import { ID_KEPT_MS } from '@tollgate/core/store'
import { ask } from '@tollgate/testing/redis'

/** The number of keys that should be gone: those of idle subjects, and ids without a proper time to live. */
export async function keysLeft(port: number): Promise<number> {
  let left = 0
  for (const key of (await ask(port, 'KEYS', '*')) as string[]) {
    // What belongs to no subject, such as the count of open limiters.
    if (key.includes('/!')) continue
    const ms = key.startsWith('tollgate/=') ? Number(await ask(port, 'PTTL', key)) : -1
    if (ms === -1 || ms > ID_KEPT_MS) left += 1
  }
  return left
}
