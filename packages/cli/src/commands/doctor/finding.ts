/** What one check found. */
export interface Finding {
  readonly check: string
  readonly result: 'ok' | 'warning' | 'failed'
  /** One sentence. */
  readonly says: string
  /** What to type, or to change. */
  readonly fix?: string
}

export function ok(check: string, says: string): Finding {
  return { check, result: 'ok', says }
}

export function warning(check: string, says: string, fix?: string): Finding {
  return { check, result: 'warning', says, ...(fix !== undefined && { fix }) }
}

export function failed(check: string, says: string, fix?: string): Finding {
  return { check, result: 'failed', says, ...(fix !== undefined && { fix }) }
}
