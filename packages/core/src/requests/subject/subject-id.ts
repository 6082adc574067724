export function isId(value: unknown): value is string | number | bigint {
  if (typeof value === 'string' || typeof value === 'bigint') return true
  return typeof value === 'number' && Number.isFinite(value) && !isRounded(value)
}

/** JavaScript cannot hold every whole number beyond 2^53 - 1, so two different ids could become the same number. */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** JSON knows no bigint, and a decision with its subject is often written to a log. */
export function plainId(id: string | number | bigint): string | number {
  return typeof id === 'bigint' ? String(id) : id
}
