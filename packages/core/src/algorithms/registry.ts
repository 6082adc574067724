import { calendarWindow } from './calendar-window.js'
import { fixedWindow } from './fixed-window.js'
import type { Implementation } from './implementation.js'
import { slidingLog } from './sliding-log.js'
import { slidingWindow } from './sliding-window.js'
import { tokenBucket } from './token-bucket.js'

const registry = {
  'calendar-window': calendarWindow,
  'fixed-window': fixedWindow,
  'sliding-log': slidingLog,
  'sliding-window': slidingWindow,
  'token-bucket': tokenBucket,
} as const

export type AlgorithmName = keyof typeof registry

/** An implementation whose state and parameters only it knows. */
export type AnyImplementation = Implementation<object, Readonly<Record<string, number>>>

/**
 * Every algorithm that can decide a limit, by the name of its two files. An algorithm is NAME.ts, NAME.lua
 * and one line above; the script for Redis is assembled from the .lua files of this folder.
 */
export const implementations = registry as unknown as Readonly<Record<AlgorithmName, AnyImplementation>>
