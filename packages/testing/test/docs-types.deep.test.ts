// Type-checks every program of README, docs and READMEs of packages with strict TypeScript, in one run of tsc. It finds
// options that do not exist, values that may be undefined, and properties that a framework's request does not have.
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freeOf, isTheirs, makeFolder, programsOf, type Program } from './docs-programs.ts'
import { pages, root, textOf } from './docs-pages.ts'

/** The properties that authentication adds to a request, in all programs. */
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

/** A page with mistakes that must be found. */
const WRONG = `Text.

\`\`\`js
import { rateLimit } from '@tollgate/express'

app.use(rateLimit({ limit: '100/min', identfy: () => 'acme' }))
app.get('/', (req, res) => res.json(req.rateLimit.plan))
\`\`\`

\`\`\`js
import rateLimit from '@fastify/rate-limit'
import { tollgateStore } from '@tollgate/stores/fastify-rate-limit'

export const wrong = { rateLimit, store: tollgateStore('redis') }
\`\`\`

\`\`\`js
const left = decision.limits[0].remaining
console.log(left, nobody)
\`\`\`
`

/** A program as a module, with the line numbers of the page. */
function moduleOf(program: Program): string {
  const { code, line } = program
  const free = [...freeOf(program)].map(([name, type]) => `declare const ${name}: ${type};`)
  return `${'\n'.repeat(line - 2)}export {}; ${free.join(' ')}\n${code}`
}

/** Writes programs into a folder. Returns the page of each file. */
function writePrograms(
  folder: string,
  texts: ReadonlyMap<string, string>,
  isChecked: (code: string) => boolean,
): Map<string, string> {
  const files = new Map<string, string>()
  for (const [page, text] of texts) {
    for (const program of programsOf(page, text)) {
      const file = `${program.file}.ts`
      const module = moduleOf(program)
      // Those of a migration page are checked for syntax only.
      if (isTheirs(program.code) || !isChecked(program.code)) continue
      files.set(file, page)
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), module)
    }
  }
  writeFileSync(join(folder, 'requests.d.ts'), REQUESTS)
  const types = ['node', 'jest']
  const compilerOptions = { rootDir: root, noUnusedLocals: false, noUnusedParameters: false, types }
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['**/*.ts'] }
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

/** Its types declare the same names as ours, so nobody can use both, and its programs are checked apart. */
const isOfTheirFastify = (code: string): boolean => code.includes("from '@fastify/rate-limit'")

/** The errors of each page, as `page:line error`. */
async function check(texts: ReadonlyMap<string, string>): Promise<Map<string, string[]>> {
  const found = new Map([...texts.keys()].map((page): [string, string[]] => [page, []]))
  const isOther = (code: string): boolean => !isOfTheirFastify(code)
  for (const part of await Promise.all([isOther, isOfTheirFastify].map((isOf) => checkPart(texts, isOf)))) {
    for (const { page, error } of part) found.get(page)?.push(error)
  }
  return found
}

async function checkPart(
  texts: ReadonlyMap<string, string>,
  isOf: (code: string) => boolean,
): Promise<{ readonly page: string; readonly error: string }[]> {
  const folder = makeFolder('docs-types')
  try {
    const files = writePrograms(folder, texts, isOf)
    return (await tsc(folder)).split('\n').flatMap((told) => {
      const [, file = '', line, what] = /^(.+?)\((\d+),\d+\): (.*)$/.exec(told) ?? []
      const page = files.get(file)
      if (page) return [{ page, error: `${page}:${line} ${what}` }]
      if (/error TS/.test(told)) throw new Error(`not of a page: ${told}`)
      return []
    })
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

  test('reports a mistake with its line', () => {
    expect(found.get('wrong.md')).toEqual([
      expect.stringMatching(/^wrong\.md:6 .*identfy/),
      expect.stringMatching(/^wrong\.md:7 .*req\.rateLimit/),
      expect.stringMatching(/^wrong\.md:18 .*undefined/),
      expect.stringMatching(/^wrong\.md:19 .*nobody/),
      expect.stringMatching(/^wrong\.md:14 .*'string'/),
    ])
  })

  test.each(pages)('finds no mistake in %s', (page) => {
    expect(found.get(page)).toEqual([])
  })
})
