import { randomBytes } from 'node:crypto'

const prefix = randomBytes(9).toString('base64url')
let count = 0

/** A new id, unique over all processes. Whatever carries it counts once. */
export function newId(): string {
  count += 1
  return `${prefix}${count.toString(36)}`
}

let leases = 0

/** The id of a lease, as the stores' contract wants it. No other lease of the last hours has it. */
export function newLeaseId(): string {
  leases = (leases + 1) % 2 ** 24
  const bytes = Buffer.from([leases >> 16, leases >> 8, leases])
  return prefix.slice(0, 8) + bytes.toString('base64url')
}

/** An id for the slots of one limiter of this process: another at every start. */
export function newHolderId(): string {
  return randomBytes(5).toString('base64url').slice(0, 6)
}
