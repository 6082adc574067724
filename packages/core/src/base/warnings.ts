/** Every code a warning of Tollgate can carry, and what it means. docs/errors.md is held equal to this table. */
export const WARNING_CODES = {
  TOLLGATE_PROXY:
    'Requests come through a proxy that the framework does not trust, so its clients count as one.',
} as const

export type WarningCode = keyof typeof WARNING_CODES

/** Emits a Node process warning, on stderr by default. The text says what is wrong and what to type. */
export type Warn = (code: WarningCode, text: string) => void

export const warn: Warn = (code, text) => process.emitWarning(text, { type: 'TollgateWarning', code })

/** For a limiter with `warnings: false`. */
export const keepSilent: Warn = () => {}
