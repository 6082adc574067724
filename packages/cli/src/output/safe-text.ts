/** Longer texts are cut in the middle. */
const LONGEST = 64

/** What a terminal would obey, or what changes how the text around it reads. Marks are harmless unless many pile up. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\\]|(?<=\p{M}{2})\p{M}/gu

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

/**
 * Shows a text of others, such as an id, on one line: what a terminal would obey is written as in JavaScript, such as `\x1b` or `\u202e`.
 *
 * @param longest in characters. A longer text is cut in the middle, since ids can differ at both ends
 */
export function safeText(text: string, longest: number = LONGEST): string {
  // Only the ends can be shown, so only they are read: an id can have a megabyte.
  const isHuge = text.length > 4 * longest
  const head = escaped(isHuge ? text.slice(0, 2 * longest) : text)
  if (!isHuge && signsIn(head).length <= longest) return head
  const tail = isHuge ? escaped(text.slice(-2 * longest)) : head
  const room = longest - 1
  const begin = Math.ceil(room / 2)
  return `${signsIn(head).slice(0, begin).join('')}…${signsIn(tail)
    .slice(begin - room)
    .join('')}`
}

/** The same for a text of several sentences, whole. */
export function safeLine(text: string): string {
  return escaped(text)
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The signs that a reader sees, such as a letter with its accents. */
export function signsIn(text: string): readonly string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment)
}

function escaped(text: string): string {
  return text.replace(UNSAFE, (sign) => NAMED[sign] ?? codeOf(sign))
}

function codeOf(sign: string): string {
  const code = sign.codePointAt(0) as number
  const hex = code.toString(16)
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const MARK = /\p{M}/u

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const sign of text) width += MARK.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1
  return width
}
