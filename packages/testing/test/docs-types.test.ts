// Every program of README and docs is type-checked as a reader's strict TypeScript would: options that do not exist,
// what may be undefined, what a framework's request does not have. One run of tsc for all of them.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, type ModuleItem, type Pattern } from '@swc/core'
import { blocksOf, pages, root, textOf, type Block } from './docs-pages.ts'

const packagesFolder = join(root, 'packages')

/**
 * What programs use without making it, since the page leaves it to the reader. Only those that a program does not
 * declare itself are declared for it.
 */
const FREE: Readonly<Record<string, string>> = {
  redis: "declare const redis: import('ioredis').Redis;",
  db: 'declare const db: { query(text: string, values: unknown[]): Promise<{ rows: { plan: string }[] }> };',
  limiter: "declare const limiter: import('@tollgate/core').Limiter;",
  decision: "declare const decision: import('@tollgate/core').Decision;",
  userId: 'declare const userId: string;',
  // As of the package ws.
  sockets:
    "declare const sockets: import('node:events').EventEmitter & { handleUpgrade(request: import('node:http').IncomingMessage, socket: import('node:stream').Duplex, head: Buffer, done: (opened: object) => void): void };",
  AppModule: 'declare const AppModule: new () => object;',
  planOf: 'declare const planOf: (id: string) => Promise<string>;',
  render: 'declare const render: (page: unknown) => Promise<string[]>;',
}
/** The same by framework: that of the program's own imports, or of the last ones before it on its page. */
const FREE_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  express: {
    app: "declare const app: import('express').Express;",
    authenticate: "declare const authenticate: import('express').RequestHandler;",
    cors: "declare const cors: (options?: { exposedHeaders?: string[] }) => import('express').RequestHandler;",
  },
  fastify: {
    app: "declare const app: import('fastify').FastifyInstance;",
    authenticate: "declare const authenticate: import('fastify').onRequestAsyncHookHandler;",
    search: "declare const search: import('fastify').RouteHandler;",
  },
  koa: {
    app: "declare const app: import('koa');",
    authenticate: "declare const authenticate: import('koa').Middleware;",
  },
}

/** What authentication leaves on a request, in all programs. */
const REQUESTS = `
declare global {
  interface Tenant { readonly id: string; readonly plan: string }
  interface User extends Tenant { readonly tenantId: string; readonly org: string; readonly isAdmin: boolean }
  namespace Express { interface Request { tenant?: Tenant; user: User } }
}
declare module 'fastify' { interface FastifyRequest { tenant?: Tenant; user: User } }
declare module 'koa' { interface DefaultState { tenant?: Tenant; user: User } }
export {}
`

/** A page that is wrong, to see that it is told. */
const WRONG = `Text.

\`\`\`js
import { rateLimit } from '@tollgate/express'

app.use(rateLimit({ limit: '100/min', identfy: () => 'acme' }))
app.get('/', (req, res) => res.json(req.rateLimit.plan))
\`\`\`

\`\`\`js
const left = decision.limits[0].remaining
console.log(left, nobody)
\`\`\`
`

/** What a page on migrating begins with: the other package's program, which may not be installed. It must parse. */
const THEIRS = '// before'

const frameworkIn = (code: string): string | undefined => /@tollgate\/(express|fastify|koa)'/.exec(code)?.[1]

/** A program as a module, its lines where they stand on the page. */
function moduleOf({ code, line }: Block, framework: string): string {
  const { body } = parseSync(code, { syntax: 'typescript', target: 'es2022' })
  const own = new Set(body.flatMap(namesOf))
  const free = Object.entries({ ...FREE, ...FREE_OF[framework] }).filter(([name]) => !own.has(name))
  const head = code.startsWith(THEIRS) ? '// @ts-nocheck' : ''
  return `${head}${'\n'.repeat(line - 2)}export {}; ${free.map(([, declared]) => declared).join(' ')}\n${code}`
}

function namesOf(item: ModuleItem): string[] {
  if (item.type === 'ImportDeclaration') return item.specifiers.map(({ local }) => local.value)
  if (item.type === 'FunctionDeclaration') return [item.identifier.value]
  return item.type === 'VariableDeclaration' ? item.declarations.flatMap(({ id }) => boundBy(id)) : []
}

function boundBy(pattern: Pattern): string[] {
  if (pattern.type === 'Identifier') return [pattern.value]
  if (pattern.type !== 'ObjectPattern') return []
  return pattern.properties.flatMap((one) =>
    one.type === 'AssignmentPatternProperty' ? [one.key.value] : [],
  )
}

/** Links each package that the workspace has, so that programs find it as they would in an app. */
function linkPackages(folder: string): void {
  const link = (name: string, target: string): void => {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    if (!existsSync(path)) symlinkSync(target, path, 'junction')
  }
  for (const name of ['core', 'express', 'fastify', 'koa', 'metrics'])
    link(`@tollgate/${name}`, join(packagesFolder, name))
  for (const name of readdirSync(packagesFolder)) {
    const from = join(packagesFolder, name, 'node_modules')
    for (const entry of existsSync(from) ? readdirSync(from) : []) {
      if (entry.startsWith('.')) continue
      const inner = entry.startsWith('@')
        ? readdirSync(join(from, entry)).map((one) => `${entry}/${one}`)
        : [entry]
      for (const one of inner) link(one, join(from, one))
    }
  }
}

/** Writes programs into a folder, and says which is which. */
function writeProgram(folder: string, texts: ReadonlyMap<string, string>): Map<string, string> {
  const files = new Map<string, string>()
  for (const [page, text] of texts) {
    let framework = 'express'
    blocksOf(page, text).forEach((block, i) => {
      framework = frameworkIn(block.code) ?? framework
      const file = `${page.replace(/[/.]/g, '-')}-${i + 1}.ts`
      files.set(file, page)
      writeFileSync(join(folder, file), moduleOf(block, framework))
    })
  }
  writeFileSync(join(folder, 'requests.d.ts'), REQUESTS)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const compilerOptions = { rootDir: root, noUnusedLocals: false, noUnusedParameters: false }
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  return files
}

function tsc(folder: string): Promise<string> {
  const script = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
  return new Promise((done) => {
    execFile(process.execPath, [script, '-p', folder, '--pretty', 'false'], { cwd: folder }, (_, stdout) =>
      done(stdout),
    )
  })
}

/** What is wrong, as `page:line what`, by page. */
async function check(texts: ReadonlyMap<string, string>): Promise<Map<string, string[]>> {
  const parent = join(packagesFolder, 'testing/dist')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'docs-'))
  try {
    linkPackages(folder)
    const files = writeProgram(folder, texts)
    const found = new Map([...texts.keys()].map((page): [string, string[]] => [page, []]))
    for (const told of (await tsc(folder)).split('\n')) {
      const [, file = '', line, what] = /^(.+?)\((\d+),\d+\): (.*)$/.exec(told) ?? []
      const page = files.get(file)
      if (page) found.get(page)?.push(`${page}:${line} ${what}`)
      else if (/error TS/.test(told)) throw new Error(`not of a page: ${told}`)
    }
    return found
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('type-checking programs', () => {
  const texts = new Map([...pages.map((page): [string, string] => [page, textOf(page)]), ['wrong.md', WRONG]])
  let found: Map<string, string[]>
  beforeAll(async () => {
    found = await check(texts)
  })

  test('tells what is wrong, and where', () => {
    expect(found.get('wrong.md')).toEqual([
      expect.stringMatching(/^wrong\.md:6 .*identfy/),
      expect.stringMatching(/^wrong\.md:7 .*req\.rateLimit/),
      expect.stringMatching(/^wrong\.md:11 .*undefined/),
      expect.stringMatching(/^wrong\.md:12 .*nobody/),
    ])
  })

  test.each(pages)('finds nothing wrong in %s', (page) => {
    expect(found.get(page)).toEqual([])
  })
})
