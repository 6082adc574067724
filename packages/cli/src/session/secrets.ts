import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandError, EXIT } from '../errors.js'
import type { Host } from '../host.js'
import { safeText } from '../output/safe-text.js'

/** Where a secret can come from: never from an argument, which all users of a machine can read. */
interface Source {
  readonly variable: string
  readonly option: string
  readonly file: string | undefined
}

/**
 * The secrets in a file, one a line, or else the one in an environment variable.
 *
 * @throws {CommandError} when the file cannot be read, or has none. No message shows what is in it
 */
export function readSecrets({ variable, option, file }: Source, { env, cwd }: Host): readonly string[] {
  if (file === undefined) return env[variable] ? [env[variable]] : []
  let text = ''
  try {
    text = readFileSync(resolve(cwd, file), 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(EXIT.usage, `${option}: ${safeText(file)} cannot be read (${code}).`)
  }
  const lines = text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '')
  if (lines.length > 0) return lines
  throw new CommandError(EXIT.usage, `${option}: ${safeText(file)} is empty.`)
}
