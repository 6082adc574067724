// What an expression of Prometheus names: metrics, and labels by which it selects and groups.

export interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
  /** Those that must have one value. */
  readonly equal: readonly (readonly [label: string, value: string])[]
}

export interface Expression {
  readonly selectors: readonly Selector[]
  /** After `by`, `on` and the like. */
  readonly groupedBy: readonly string[]
}

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g
const WORDS = ['and', 'or', 'unless', 'bool', 'offset', 'by', 'without', 'on', 'ignoring']
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g

/** Reads as much of an expression as is needed to find what it names. Each word that is not the language's own is a metric. */
export function readExpression(text: string): Expression {
  const groupedBy = [...text.matchAll(GROUPING)].flatMap(([, labels = '']) => labels.match(/\w+/g) ?? [])
  const rest = text.replace(GROUPING, ' ').replace(/\[[^\]]*\]/g, ' ')
  const selectors = [...rest.matchAll(/([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\()?/g)]
    .filter(([, name = '', next]) => next !== '(' && !WORDS.includes(name))
    .map(([, metric = '', inner = '']) => {
      const matchers = [...inner.matchAll(MATCHER)]
      return {
        metric,
        labels: matchers.map(([, label = '']) => label),
        equal: matchers
          .filter(([, , operator]) => operator === '=')
          .map(([, label = '', , value = '']) => [label, value] as const),
      }
    })
  return { selectors, groupedBy }
}
