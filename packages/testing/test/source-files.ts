import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from '@swc/core'
import { PUBLISHED } from './published.ts'

export const root = resolve(__dirname, '../../..')

/** The sources of the published packages that somebody wrote, TypeScript and Lua. */
export const sources: readonly string[] = PUBLISHED.flatMap((name) => filesIn(`packages/${name}/src`))

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|lua)$/.test(file) && !file.endsWith('.generated.ts'))
    .map((file) => `${folder}/${file}`)
    .sort()
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

export type Node = Readonly<Record<string, unknown>>

export function parseTypeScript(text: string): Node {
  return parseSync(text, { syntax: 'typescript', target: 'es2022' }) as unknown as Node
}

/** Every node of a syntax tree, in whatever property it is. */
export function* nodesOf(tree: unknown): Generator<Node> {
  if (typeof tree !== 'object' || tree === null) return
  if (!Array.isArray(tree)) yield tree as Node
  for (const part of Object.values(tree)) yield* nodesOf(part)
}
