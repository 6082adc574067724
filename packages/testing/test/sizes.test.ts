// The sizes that files and functions of published packages must keep, in lines including blanks and comments.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { nodesOf, parseTypeScript, read, root, sources, type Node } from './source-files.ts'

interface Size {
  readonly what: string
  readonly lines: number
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

const longerThan = (most: number, sizes: readonly Size[]): string[] =>
  sizes.filter(({ lines }) => lines > most).map(({ what, lines }) => `${what} has ${lines} lines`)

test('a file is one thing that reads top to bottom, in at most 350 lines', () => {
  const files = sources.map((what) => ({ what, lines: linesOf(read(what)) }))
  expect(longerThan(350, files)).toEqual([])
})

test('a function fits on a screen: at most 40 lines', () => {
  const functions = sources.flatMap(functionsOf)
  expect(functions.length).toBeGreaterThan(500)
  expect(longerThan(40, functions)).toEqual([])
})
