/** Why something could not be read, as a sentence for an operator. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (code === 'ERR_TOLLGATE_CONFIG') return String(message)
  if (code === 'ERR_TOLLGATE_CLOSED') return 'This limiter was closed.'
  return isOfStore(error) ? 'The store does not answer.' : 'It cannot be read.'
}

/** Whether the store failed, or was too slow. */
export function isOfStore(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^ERR_TOLLGATE_(?:STORE|CLOSED)/.test(code)
}

/** For a store that keeps no rules or no logs: there are none. */
export function noneIfUnsupported<T>(none: T): (error: unknown) => T {
  return (error) => {
    if ((error as { readonly code?: unknown }).code === 'ERR_TOLLGATE_CONFIG') return none
    throw error
  }
}
