import assert from 'node:assert/strict'
import { inspect } from 'node:util'

/**
 * Compares what a store answered with what the contract asks for. An assertion of Node with words of its own shows no
 * values, and one without words does not say what they are.
 *
 * @param what what the values are, and after what: `units left after costs 4, 2 and 1 of 5`
 */
export function same(actual: unknown, expected: unknown, what: string): void {
  try {
    assert.deepEqual(actual, expected)
  } catch {
    throw new assert.AssertionError({
      message: `${what}: the contract asks for ${shown(expected)}, the store answered ${shown(actual)}`,
      actual,
      expected,
    })
  }
}

function shown(value: unknown): string {
  return inspect(value, { depth: 5, breakLength: Infinity })
}
