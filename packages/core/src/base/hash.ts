/**
 * FNV-1a, 32 bits, over the UTF-16 code units of a text. Stored keys depend on it, so its results must never change.
 *
 * @see https://datatracker.ietf.org/doc/draft-eastlake-fnv/
 */
export function fnv1a(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return sum >>> 0
}
