import type { MaybePromise } from '../base/promises.js'

/**
 * Notes that processes leave in the store for whoever looks: what traffic they see, which requests they denied, who set a rule. Each topic
 * keeps its newest notes for a time.
 */
export interface Board {
  /**
   * Adds notes to a topic. One whose id is known replaces that, and becomes the newest. May reject, or throw, if the store fails.
   *
   * @returns how many notes the topic has now
   */
  put(topic: string, notes: readonly Note[], terms: NoteTerms): MaybePromise<number>
  /** The newest notes of a topic that were put since then, the newest first. May reject, or throw, if the store fails. */
  read(topic: string, since: NotesSince): MaybePromise<readonly Note[]>
}

/** A note of a topic. */
export interface Note {
  /** 1 to 33 letters, digits, `_` or `-`. */
  readonly id: string
  /** At most 32 768 characters. */
  readonly text: string
}

/** How long a topic keeps a note after it was put, in ms, and how many notes. The oldest go first. */
export interface NoteTerms {
  readonly keptMs: number
  readonly most: number
}

/** Which notes to read: none that was put earlier than `sinceMs`, in ms by the store's clock, and none that is kept no longer. */
export interface NotesSince extends NoteTerms {
  readonly sinceMs: number
}
