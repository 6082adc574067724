// Runs the programs of a page as they stand there, in this process, so that what a page says to type is what is tried.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from '@swc/core'
import { blocksOf, root, textOf, type Block } from './docs-pages.ts'

export type { Block } from './docs-pages.ts'

/** Two programs that do the same: one with another package, and one with Tollgate. */
export interface Pair {
  readonly heading: string
  readonly before: Block
  readonly after: Block
}

type Options = Readonly<Record<string, unknown>>
type Maker = (options?: Options) => unknown

/** A module whose limiters wait for long: on a busy machine Redis can be too late for their usual deadline. */
function patient(module: unknown): unknown {
  const { createLimiter, rateLimit } = module as { readonly createLimiter: Maker; readonly rateLimit?: Maker }
  const slow =
    (make: Maker): Maker =>
    (options) =>
      make(options?.['limiter'] ? options : { deadlineMs: 10_000, ...options })
  return Object.assign({}, module, {
    createLimiter: slow(createLimiter),
    ...(rateLimit && { rateLimit: slow(rateLimit) }),
  })
}

/** The modules of the workspace that programs import. Sources, so that no build is needed. */
const OURS: Readonly<Record<string, () => unknown>> = {
  '@tollgate/core': () => patient(require('../../core/src/index.ts')),
  '@tollgate/express': () => patient(require('../../express/src/index.ts')),
  '@tollgate/fastify': () => require('../../fastify/src/index.ts') as unknown,
  '@tollgate/koa': () => patient(require('../../koa/src/index.ts')),
}

type Program = (...given: unknown[]) => Promise<Record<string, unknown>>
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (...text: string[]) => Program

/**
 * The pairs of a page, in order.
 *
 * @throws when a program that begins with `// before` is not followed by one with `// after` under the same heading
 */
export function pairsOf(page: string): Pair[] {
  const text = textOf(page)
  const blocks = blocksOf(page, text)
  return blocks.flatMap((before, i) => {
    if (!before.code.startsWith('// before\n')) return []
    const heading = headingOf(text, before)
    const after = blocks[i + 1]
    if (!after?.code.startsWith('// after\n') || headingOf(text, after) !== heading)
      throw new Error(`${page}:${before.line}: nothing to type in its place`)
    return [{ heading, before, after }]
  })
}

/** The program under a heading that belongs to no pair. */
export function programUnder(page: string, heading: string): Block {
  const text = textOf(page)
  const found = blocksOf(page, text).find((block) => headingOf(text, block) === heading)
  if (!found) throw new Error(`${page} has no program under "${heading}"`)
  return found
}

function headingOf(text: string, { line }: Block): string {
  const above = text.split('\n').slice(0, line - 1)
  return above.findLast((one) => /^#+ /.test(one))?.replace(/^#+ /, '') ?? ''
}

/**
 * Runs a program of a page.
 *
 * @param given the values that the page leaves to the reader, such as `app` and `redis`, by name
 * @param mocks modules that replace the real ones
 * @returns     the exports of the program
 */
export function runProgram(
  { code }: Block,
  given: Readonly<Record<string, unknown>>,
  mocks: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  const { code: compiled } = transformSync(code, {
    module: { type: 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } },
  })
  const load = (name: string): unknown => mocks[name] ?? OURS[name]?.() ?? (require(name) as unknown)
  const run = new AsyncFunction('require', 'exports', ...Object.keys(given), `${compiled}\nreturn exports`)
  return run(load, {}, ...Object.values(given))
}

/** Compares a page with the declarations and sources of another package. */
export interface OptionsOnPage {
  /** The members of types or interfaces in a declaration file of the package. */
  of(file: string, ...types: string[]): string[]
  /** The matches of a regular expression in a file of the package: its first group. */
  read(file: string, expression: RegExp): string[]
  /** Whether the page contains the name as code. */
  names(option: string): boolean
}

export function optionsIn(page: string): OptionsOnPage {
  const code = [...textOf(page).matchAll(/`([^`\n]+)`/g)].flatMap(
    ([, text = '']) => text.match(/\w[\w-]*/g) ?? [],
  )
  const known = new Set(code)
  return {
    of: (file, ...types) => types.flatMap((type) => membersOf(file, type)),
    read: (file, expression) => [...textIn(file).matchAll(expression)].map(([, name = '']) => name),
    names: (option) => known.has(option),
  }
}

const textIn = (file: string): string =>
  readFileSync(join(root, 'packages/testing/node_modules', file), 'utf8')

/** The members of a type, without those of nested types and parameters. */
function membersOf(file: string, type: string): string[] {
  const text = textIn(file)
  // Comments can contain examples.
  const plain = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
  const declared = new RegExp(`^([ \\t]*)(?:export )?${type}\\b[^{\\n]*\\{\\n([\\s\\S]*?)^\\1\\}`, 'm').exec(
    plain,
  )
  const found = [...(declared?.[2] ?? '').matchAll(/^([ \t]*)(?:readonly )?'?(\w[\w-]*)'?\??\s*[:(]/gm)]
  const depth = found[0]?.[1]?.length
  const members = found.filter(([, indent]) => indent?.length === depth).map(([, , name = '']) => name)
  if (members.length === 0) throw new Error(`${file} declares no ${type}`)
  return members
}
