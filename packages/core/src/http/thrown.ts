import { toError } from '../base/errors.js'

/**
 * What a function of the user threw, for a framework's error handling: objects as they are, since a framework answers
 * one that has a `statusCode` by it. Anything else as an error: `undefined` would be taken for success, and some texts
 * for commands.
 */
export function toThrown(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null ? thrown : toError(thrown)
}
