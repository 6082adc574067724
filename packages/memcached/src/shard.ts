import { StoreError, type Call } from '@tollgate/core/store'
import type { Run } from './batch.js'
import type { Command, Reply } from './clients/port.js'
import type { CommonClock } from './clock.js'
import type { Counters } from './counting/counters.js'

/** One server, or all servers of a client. */
export interface Shard {
  readonly clock: CommonClock
  readonly counters: Counters
  readonly run: Run
}

/** Sends the comparison of clocks with the first commands, when it is time for one. */
export function comparing({ clock, run }: Shard): Run {
  return async (commands: readonly Command[]): Promise<readonly Reply[]> => {
    const comparison = clock.comparison()
    if (!comparison) return run(commands)
    const replies = await run([...commands, comparison])
    clock.compare(replies[commands.length])
    return replies
  }
}

/** Waits for the common time, before the first decision. */
export async function synced({ clock }: Shard, call: Call | undefined): Promise<void> {
  await clock.sync()
  if (!call?.isOver) return
  throw new StoreError('too late to ask Memcached: its clock was asked first', {
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
  })
}
