import { clearTimeout, setTimeout } from './platform.js'

export { clearTimeout, elapsedMs, setImmediate, setTimeout, startedAtMs } from './platform.js'

/** Resolves after `ms`. Does not keep the process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

/** The value, or a rejection if it takes longer than `ms`. What comes later is ignored. Does not keep the process alive. */
export async function within<T>(given: Promise<T>, ms: number, onLate: () => Error): Promise<T> {
  let timer
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(onLate()), ms).unref()
  })
  try {
    return await Promise.race([given, late])
  } finally {
    clearTimeout(timer)
  }
}
