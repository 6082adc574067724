const LONGEST_READ = 1000

/**
 * Picks the offered media type that an Accept header prefers. Among equals the first wins. If none is acceptable the
 * first is used too, since a denial must be answered with something.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.accept
 */
export function negotiate<Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  if (!accept || accept === '*/*') return offered[0]
  const ranges = accept.slice(0, LONGEST_READ).split(',').map(readRange)
  let [best] = offered
  let most = 0
  for (const type of offered) {
    const weight = weigh(type, ranges)
    if (weight > most) {
      best = type
      most = weight
    }
  }
  return best
}

interface Range {
  readonly type: string
  readonly q: number
}

function readRange(text: string): Range {
  const [type = '', ...params] = text.split(';').map((part) => part.trim().toLowerCase())
  const q = params.find((param) => param.startsWith('q='))
  const weight = q === undefined ? 1 : Number(q.slice(2))
  return { type, q: weight >= 0 && weight <= 1 ? weight : 0 }
}

/** The quality value of a type, from 0 to 1. The most specific range that matches the type decides. */
function weigh(type: string, ranges: readonly Range[]): number {
  const [group] = type.split('/')
  for (const range of [type, `${group}/*`, '*/*']) {
    const found = ranges.find((given) => given.type === range)
    if (found) return found.q
  }
  return 0
}
