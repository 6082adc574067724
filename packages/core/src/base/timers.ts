import { setTimeout } from './platform.js'

export { clearTimeout, elapsedMs, setImmediate, setTimeout, startedAtMs } from './platform.js'

/** Resolves after `ms`. Does not keep the process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
