/** Control characters, those that change the direction of text, line separators, and halves of pairs. */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Whether a name can stand in a sentence and in a log, and is read there as what it is. */
export function isShowable(name: string): boolean {
  return !UNSHOWABLE.test(name)
}
