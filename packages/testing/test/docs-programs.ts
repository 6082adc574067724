// The programs of pages as files: one folder a page, so that a program can import another one of its page.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, type ModuleItem, type Pattern } from '@swc/core'
import { blocksOf, root, type Block } from './docs-pages.ts'
import { linkPackages } from './linked-packages.ts'

/** A program, and where it is written. */
export interface Program extends Block {
  /** From the folder of all programs. */
  readonly file: string
  /** Of its own imports, or of the last ones before it on its page. */
  readonly framework: string
}

/**
 * What programs use without making it, since the page leaves it to the reader: its type here, the thing itself in
 * docs-free.mjs. A program gets only those that it does not declare itself.
 */
const FREE: Readonly<Record<string, string>> = {
  redis: "import('ioredis').Redis",
  db: '{ query(text: string, values: unknown[]): Promise<{ rows: { plan: string }[] }> }',
  limiter: "import('@tollgate/core').Limiter",
  decision: "import('@tollgate/core').Decision",
  userId: 'string',
  // As of the package ws.
  sockets:
    "import('node:events').EventEmitter & { handleUpgrade(request: import('node:http').IncomingMessage, socket: import('node:stream').Duplex, head: Buffer, done: (opened: object) => void): void }",
  planOf: '(id: string) => Promise<string>',
  render: '(page: unknown) => Promise<string[]>',
}
/** The same by framework. */
const FREE_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  express: {
    app: "import('express').Express",
    authenticate: "import('express').RequestHandler",
    cors: "(options?: { exposedHeaders?: string[] }) => import('express').RequestHandler",
  },
  fastify: {
    app: "import('fastify').FastifyInstance",
    authenticate: "import('fastify').onRequestAsyncHookHandler",
    search: "import('fastify').RouteHandler",
    handler: "import('fastify').RouteHandler",
  },
  koa: {
    app: "import('koa')",
    authenticate: "import('koa').Middleware",
  },
}

/** What a page on migrating begins with: the other package's program, which may not be installed. It must parse. */
export const isTheirs = (code: string): boolean => code.startsWith('// before')

/** What runs a program: another one's is only parsed, and one that stops at a signal is a process of its own. */
export type Kind = 'theirs' | 'until a signal' | 'node:test' | 'jest' | 'program'

export function kindOf({ code }: Block): Kind {
  if (isTheirs(code)) return 'theirs'
  if (code.includes("'SIGTERM'")) return 'until a signal'
  if (code.includes("from 'node:test'")) return 'node:test'
  return /^\s*(test|it|describe)\(/m.test(code) ? 'jest' : 'program'
}

/** A program that others of its page import says its name in its first line: `// map-store.ts`. */
const nameIn = (code: string): string | undefined => /^\/\/ ([\w.-]+)\.[jt]s\n/.exec(code)?.[1]

const frameworkIn = (code: string): string | undefined => /@tollgate\/(express|fastify|koa)'/.exec(code)?.[1]

/** The programs of a page, in their order. */
export function programsOf(page: string, text: string): Program[] {
  let framework = 'express'
  return blocksOf(page, text).map((block, i) => {
    framework = frameworkIn(block.code) ?? framework
    return {
      ...block,
      framework,
      file: `${page.replace(/[/.]/g, '-')}/${nameIn(block.code) ?? `program-${i + 1}`}`,
    }
  })
}

/** The names that a program uses and leaves to the reader, with their types. */
export function freeOf({ code, framework }: Program): Map<string, string> {
  const { body } = parseSync(code, { syntax: 'typescript', target: 'es2022' })
  const own = new Set(body.flatMap(namesOf))
  const free = Object.entries({ ...FREE, ...FREE_OF[framework] })
  return new Map(free.filter(([name]) => !own.has(name) && new RegExp(`\\b${name}\\b`).test(code)))
}

function namesOf(item: ModuleItem): string[] {
  if (item.type === 'ImportDeclaration') return item.specifiers.map(({ local }) => local.value)
  if (item.type === 'FunctionDeclaration') return [item.identifier.value]
  if (item.type === 'ExportDeclaration') return namesOf(item.declaration as ModuleItem)
  return item.type === 'VariableDeclaration' ? item.declarations.flatMap(({ id }) => boundBy(id)) : []
}

function boundBy(pattern: Pattern): string[] {
  if (pattern.type === 'Identifier') return [pattern.value]
  if (pattern.type !== 'ObjectPattern') return []
  return pattern.properties.flatMap((one) =>
    one.type === 'AssignmentPatternProperty' ? [one.key.value] : [],
  )
}

/** A new folder in which programs find every package as they would in an app. */
export function makeFolder(name: string): string {
  const parent = join(root, 'packages/testing/dist')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, `${name}-`))
  linkPackages(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}
