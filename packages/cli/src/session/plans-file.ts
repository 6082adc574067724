import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createLimiter, memoryStore, type Limiter, type LimiterOptions } from '@tollgate/core'
import { CommandError, EXIT, toCommandError } from '../errors.js'
import { safeLine, safeText } from '../output/safe-text.js'

/** The files that are looked for if none is named. */
export const DEFAULT_FILES = ['tollgate.config.js', 'tollgate.config.mjs'] as const

/** What the application says about its limits, in a file or in its Redis. */
export interface KnownPlans {
  /** Where that is, safe to show: a file as the operator named it. */
  readonly shown: string
  readonly options: LimiterOptions
}

/**
 * Loads the options of the application's limiter: the default export of the file.
 *
 * @param named the file that the operator named; undefined: one of the default files, if it exists
 * @throws {CommandError} when it does not exist, fails, or its options are wrong
 */
export async function loadPlansFile(named: string | undefined, cwd: string): Promise<KnownPlans | undefined> {
  const name = named ?? DEFAULT_FILES.find((one) => existsSync(resolve(cwd, one)))
  if (name === undefined) return undefined
  const shown = safeText(name)
  const path = resolve(cwd, name)
  if (!existsSync(path)) throw new CommandError(EXIT.usage, `--plans: there is no file ${shown}.`)
  const options = needOptions(await importFrom(path, shown), shown)
  await trial({ shown, options })
  return { shown, options }
}

/** How long a file may take to load, in ms. */
const LOADING_MS = 10_000

async function importFrom(path: string, shown: string): Promise<unknown> {
  const undo = contain()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const problem = new Error(`it was not loaded within ${LOADING_MS / 1000} s: does it wait for something?`)
    timer = setTimeout(() => reject(problem), LOADING_MS)
  })
  try {
    const loading = import(pathToFileURL(path).href) as Promise<{ readonly default?: unknown }>
    const { default: exported } = await Promise.race([loading, late])
    return exported
  } catch (error) {
    const message = reasonOf(error)
    throw new CommandError(
      EXIT.usage,
      `${shown} cannot be loaded: ${safeText(message, 400)}.`,
      /outside a module|Unexpected token 'export'/.test(message)
        ? 'It must be an ES module: call it .mjs, or write "type": "module" into its package.json.'
        : undefined,
    )
  } finally {
    clearTimeout(timer)
    undo()
  }
}

/** While a file of the application is loaded, it ends no process, and what it prints is no part of an answer. Returns what undoes that. */
function contain(): () => void {
  const { exit, stdout, stderr } = process
  const { write } = stdout
  process.exit = (code) => {
    throw new Error(`it calls process.exit(${code ?? ''})`)
  }
  stdout.write = stderr.write.bind(stderr) as typeof write
  return () => {
    process.exit = exit
    stdout.write = write
  }
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `it threw ${String(thrown)}`
}

const EXAMPLE = "export default { plans: { free: '100/min', pro: '3000/min' }, defaultPlan: 'free' }"

function needOptions(exported: unknown, shown: string): LimiterOptions {
  if (typeof exported === 'object' && exported !== null && !Array.isArray(exported) && !isPromise(exported)) {
    const isLimiter = 'consume' in exported
    if (!isLimiter) return exported as LimiterOptions
  }
  throw new CommandError(
    EXIT.usage,
    `${shown}: its default export must be an object with the options of createLimiter, without the store.`,
    `Write: ${EXAMPLE}`,
  )
}

function isPromise(value: object): boolean {
  return typeof (value as { readonly then?: unknown }).then === 'function'
}

/** @throws {CommandError} when no limiter can be made of the options */
async function trial({ shown, options }: KnownPlans): Promise<void> {
  try {
    await inMemory(options, Date.now(), async () => {})
  } catch (error) {
    throw new CommandError(
      EXIT.usage,
      `${shown}: ${safeLine(toCommandError(error).message.replace(/^--/, ''))}`,
    )
  }
}

/** Runs `work` with a limiter that counts in memory, at a fixed time. It checks all that the real one does, and changes nothing. */
export async function inMemory<T>(
  options: LimiterOptions,
  nowMs: number,
  work: (limiter: Limiter) => T | Promise<T>,
): Promise<T> {
  const limiter = createLimiter({ ...options, store: memoryStore({ now: () => nowMs }), warnings: false })
  try {
    return await work(limiter)
  } finally {
    await limiter.close()
  }
}
