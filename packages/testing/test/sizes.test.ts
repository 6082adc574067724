// Files and functions fit on a screen: the sizes that the source must keep, in lines including blanks and comments.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { nodesOf, parseTypeScript, read, root, sources, type Node } from './source-files.ts'

interface Size {
  readonly what: string
  readonly lines: number
}

/** The most lines of the median, of the 90th percentile, and of the largest. */
interface Bound {
  readonly median: number
  readonly most: number
  readonly max: number
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}

function functionsOfTypeScript(file: string): Size[] {
  // Spans count bytes, beginning with 1.
  const bytes = Buffer.from(read(file))
  const lineOf = (at: number): number => linesOf(bytes.subarray(0, at - 1).toString()) + 1
  const sizes: Size[] = []
  for (const node of nodesOf(parseTypeScript(bytes.toString()))) {
    if (!isFunction(node)) continue
    const { start, end } = node.span as { readonly start: number; readonly end: number }
    const [from, to] = [lineOf(start), lineOf(end)]
    sizes.push({ what: `${file}:${from}`, lines: to - from + 1 })
  }
  return sizes
}

/** Whether a node is a function of any kind. The inner node of a method, without a type, does not count again. */
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

/** The smallest size that this share (0 to 1) of the sizes does not exceed. */
function quantile(sizes: readonly Size[], part: number): number {
  const sorted = sizes.map(({ lines }) => lines).sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * part) - 1] as number
}

/** The exceeded bounds in words, with the largest files or functions. */
function above(sizes: readonly Size[], { median, most, max }: Bound): string[] {
  const found = [quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(sizes, 1)] as const
  if (found[0] <= median && found[1] <= most && found[2] <= max) return []
  const large = sizes.filter(({ lines }) => lines > most).sort((a, b) => b.lines - a.lines)
  const few = `${sizes.length} of them: ${found.join(' / ')}, to be at most ${median} / ${most} / ${max}`
  return [few, ...large.map(({ what, lines }) => `${lines} ${what}`)]
}

test('files: under 80 lines at the median, under 170 for nine in ten, at most 250', () => {
  const files = sources.map((what) => ({ what, lines: linesOf(read(what)) }))
  expect(above(files, { median: 79, most: 169, max: 250 })).toEqual([])
})

test('functions: at most 5 lines at the median, 20 for nine in ten, 40 for any', () => {
  const functions = sources.flatMap(functionsOf)
  expect(functions.length).toBeGreaterThan(500)
  expect(above(functions, { median: 5, most: 20, max: 40 })).toEqual([])
})
