// The programs of pages as files, with one folder per page, so that programs of a page can import each other.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, type ModuleItem, type Pattern } from '@swc/core'
import { blocksOf, root, type Block } from './docs-pages.ts'
import { linkPackages } from './linked-packages.ts'

/** A program of a page, and the file it is written to. */
export interface Program extends Block {
  /** The path of the file within the folder of all programs. */
  readonly file: string
  /** The framework that the program imports, or else the last one that was imported before it on the page. */
  readonly framework: string
}

/**
 * The names that programs use without declaring them, because the page leaves them to the reader. Their types are here,
 * their values in docs-free.mjs. A program gets only the names that it does not declare itself.
 */
const FREE: Readonly<Record<string, string>> = {
  redis: "import('ioredis').Redis",
  db: '{ query(text: string, values: unknown[]): Promise<{ rows: { plan: string }[] }> }',
  limiter: "import('@tollgate/core').Limiter",
  decision: "import('@tollgate/core').Decision",
  userId: 'string',
  // As in the package ws.
  sockets:
    "import('node:events').EventEmitter & { handleUpgrade(request: import('node:http').IncomingMessage, socket: import('node:stream').Duplex, head: Buffer, done: (opened: object) => void): void }",
  AppModule: 'new () => object',
  planOf: '(id: string) => Promise<string>',
  render: '(page: unknown) => Promise<string[]>',
}
/** The same, for each framework. */
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

/** Whether a program of a migration page is for the other package, which may not be installed. It must only parse. */
export const isTheirs = (code: string): boolean => code.startsWith('// before')

/** How a program is run. `theirs` is only parsed; `until a signal` runs in its own process. */
export type Kind = 'theirs' | 'until a signal' | 'node:test' | 'jest' | 'program'

export function kindOf({ code }: Block): Kind {
  if (isTheirs(code)) return 'theirs'
  if (code.includes("'SIGTERM'")) return 'until a signal'
  if (code.includes("from 'node:test'")) return 'node:test'
  return /^\s*(test|it|describe)\(/m.test(code) ? 'jest' : 'program'
}

/** The file name in the first line of a program that other programs of the page import: `// map-store.ts`. */
const nameIn = (code: string): string | undefined => /^\/\/ ([\w.-]+)\.[jt]s\n/.exec(code)?.[1]

const frameworkIn = (code: string): string | undefined => /@tollgate\/(express|fastify|koa)'/.exec(code)?.[1]

/** The programs of a page, in order. */
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

/** The names that a program uses without declaring them, with their types. */
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

/** Makes a folder in which programs can import every package, as in an application. */
export function makeFolder(name: string): string {
  const parent = join(root, 'packages/testing/dist')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, `${name}-`))
  linkPackages(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}
