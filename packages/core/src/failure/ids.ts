import { randomBytes } from 'node:crypto'

const prefix = randomBytes(9).toString('base64url')
let count = 0

/** A new id, unique over all processes. Whatever carries it counts once. */
export function newId(): string {
  count += 1
  return `${prefix}${count.toString(36)}`
}
