// Files and functions that fit on a screen: the sizes that the source is held to, in lines as written.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { parseSync } from '@swc/core'
import { PUBLISHED } from './published.ts'

const root = resolve(__dirname, '../../..')
const sources = PUBLISHED.flatMap((name) => filesIn(`packages/${name}/src`))

interface Size {
  readonly what: string
  readonly lines: number
}

/** The most lines at the median, of nine in ten, and of any. */
interface Bound {
  readonly median: number
  readonly most: number
  readonly max: number
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|lua)$/.test(file) && !file.endsWith('.generated.ts'))
    .map((file) => `${folder}/${file}`)
    .sort()
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}

type Node = Readonly<Record<string, unknown>>

/** Every node of a tree, whatever its parser calls what is in it. */
function* nodesOf(tree: unknown): Generator<Node> {
  if (typeof tree !== 'object' || tree === null) return
  if (!Array.isArray(tree)) yield tree as Node
  for (const part of Object.values(tree)) yield* nodesOf(part)
}

function functionsOfTypeScript(file: string): Size[] {
  // Spans count bytes, from 1.
  const bytes = Buffer.from(read(file))
  const lineOf = (at: number): number => linesOf(bytes.subarray(0, at - 1).toString()) + 1
  const sizes: Size[] = []
  for (const node of nodesOf(parseSync(bytes.toString(), { syntax: 'typescript', target: 'es2022' }))) {
    if (!isFunction(node)) continue
    const { start, end } = node.span as { readonly start: number; readonly end: number }
    const [from, to] = [lineOf(start), lineOf(end)]
    sizes.push({ what: `${file}:${from}`, lines: to - from + 1 })
  }
  return sizes
}

/** Of every kind, arrows too. What a method holds is no function of its own, and has no type. */
function isFunction({ type, body, function: method }: Node): boolean {
  const own = (body ?? (method as Node | undefined)?.body) as Node | null | undefined
  return type === 'ArrowFunctionExpression' || (typeof type === 'string' && own?.type === 'FunctionBody')
}

function functionsOfLua(file: string): Size[] {
  const { parse } = createRequire(join(root, 'packages/core/package.json'))('luaparse')
  const chunk = parse(read(file), { luaVersion: '5.1', locations: true })
  return [...nodesOf(chunk)]
    .filter(({ type }) => type === 'FunctionDeclaration')
    .map(({ loc }) => loc as { readonly start: { line: number }; readonly end: { line: number } })
    .map(({ start, end }) => ({ what: `${file}:${start.line}`, lines: end.line - start.line + 1 }))
}

function functionsOf(file: string): Size[] {
  return file.endsWith('.lua') ? functionsOfLua(file) : functionsOfTypeScript(file)
}

/** The least that a part of the sizes is not above. */
function quantile(sizes: readonly Size[], part: number): number {
  const sorted = sizes.map(({ lines }) => lines).sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * part) - 1] as number
}

/** What is above the bounds, in words; the offenders with it. */
function above(sizes: readonly Size[], { median, most, max }: Bound): string[] {
  const found = [quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(sizes, 1)] as const
  if (found[0] <= median && found[1] <= most && found[2] <= max) return []
  const large = sizes.filter(({ lines }) => lines > most).sort((a, b) => b.lines - a.lines)
  const few = `${sizes.length} of them: ${found.join(' / ')}, to be at most ${median} / ${most} / ${max}`
  return [few, ...large.map(({ what, lines }) => `${lines} ${what}`)]
}

test('files: median under 80 lines, nine in ten under 150, none over 250', () => {
  const files = sources.map((what) => ({ what, lines: linesOf(read(what)) }))
  expect(above(files, { median: 79, most: 149, max: 250 })).toEqual([])
})

test('functions: 5, 20 and 40 lines at the median, of nine in ten, and of any', () => {
  const functions = sources.flatMap(functionsOf)
  expect(functions.length).toBeGreaterThan(500)
  expect(above(functions, { median: 5, most: 20, max: 40 })).toEqual([])
})
