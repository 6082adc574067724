import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeProject, packPackages, type Project } from '../src/index.ts'
import { HOME, textOf } from './docs-pages.ts'
import { BROWSER_FILES, BROWSER_PRINT } from './packed-browser.ts'
import { FACES_FILES, FACES_PRINT } from './packed-faces.ts'
import { importsOf, requiresOf } from './packed-imports.ts'
import {
  METRICS,
  METRICS_PACKAGES,
  METRICS_TYPED,
  PROM_CLIENT,
  PROM_CLIENT_USED,
  TYPE,
  USED,
} from './packed-metrics.ts'
import { STORES_FILES, STORES_PACKAGES, STORES_PRINT } from './packed-stores.ts'
import { PUBLISHED } from './published.ts'

jest.setTimeout(120_000)

const exec = promisify(execFile)
const bin = (name: string): string => resolve(__dirname, '../node_modules/.bin', name)

interface Framework {
  readonly variable: string
  /** The framework's package, and the package of its types if they are separate. */
  readonly packages: readonly string[]
  /**
   * A program that is valid as JavaScript and TypeScript. Prints the statuses of three requests, with a limit of two.
   */
  readonly serve: string
  /** A program that its types must accept, except where marked. */
  readonly typed: string
}

const listen = (what: string): string => `
const server = ${what}.listen(0, '127.0.0.1', async () => {
  const { port } = Object(server.address())
  const answers = []
  for (let i = 0; i < 3; i += 1) answers.push(await fetch('http://127.0.0.1:' + port))
  console.log(answers.map(({ status }) => status).join())
  server.close()
  server.closeAllConnections()
})
`
const INFERRED = `
import { createLimiter, StoreError, type LimiterEvents } from '@tollgate/core'
export const limiter = createLimiter({ plans: { free: '3/min' }, defaultPlan: 'free' })
export const check = (id: string) => limiter.consume(id)
export const limits = async (id: string) => (await limiter.consume(id)).limits
export const why = async (id: string) => {
  const { source, reason, localLimits } = await limiter.consume(id)
  return { source, reason, localLimits }
}
export const hold = (id: string) => limiter.reserve(id, { cost: 1, for: '1min' })
export const health = () => limiter.health()
export const { decisions, leases, reconciled, reservations, waiting } = limiter.stats()
export const count = () => limiter.stats().decisions.store
export const onBreaker = (change: LimiterEvents['breaker'][0]) => ({ change, state: change.state, outage: change.outage })
export const onChange = (
  lease: LimiterEvents['lease'][0],
  queue: LimiterEvents['waiting'][0],
  inFlight: LimiterEvents['inFlight'][0],
  shed: LimiterEvents['shed'][0],
  charged: LimiterEvents['reconciliation'][0],
  context: LimiterEvents['limited'][1],
) => [lease, queue, inFlight, shed, charged, context] as const
export const because = (error: StoreError) => ({ code: error.code, reason: error.reason })
`
/** Prints the file that the stack of a mistake begins in. */
const MISTAKE = `
try {
  Object(rateLimit)({ limit: 'wrong' })
} catch (error) {
  const [, frame] = Object(error).stack.split('\\n')
  console.log(frame.match(/([\\w-]+)\\.c?js:/)[1])
}
`
const OPTIONS = `{
  plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
  identify: ({ headers }) => ({ id: String(headers['x-api-key']), plan: 'free' }),
}`
/** In a function that is never called, since it would throw. */
const WRONG_DEFAULT = `// @ts-expect-error: fre is no plan
export const wrong = (): unknown => rateLimit({ plans: { free: '1/min', pro: '2/min' }, defaultPlan: 'fre' })`
const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  express: {
    variable: 'express',
    packages: ['express@5.3.0', '@types/express@5.0.6'],
    serve: `
const app = express()
app.use(rateLimit({ limit: '2/min' }))
app.get('/', (req, res) => { res.send(req.rateLimit?.plan) })
${listen('app')}`,
    typed: `export const byPlan: express.RequestHandler = rateLimit(${OPTIONS})
${WRONG_DEFAULT}`,
  },
  fastify: {
    variable: 'Fastify',
    packages: ['fastify@5.12.8'],
    serve: `
const main = async () => {
  const app = Fastify()
  await app.register(rateLimit, { limit: '4/min', hook: 'preHandler' })
  app.get('/', { config: { rateLimit: { cost: 2 } } }, (request) => request.rateLimit?.plan)
  const answers = []
  for (let i = 0; i < 3; i += 1) answers.push(await app.inject('/'))
  console.log(answers.map(({ statusCode }) => statusCode).join())
  await app.close()
}
void main()
`,
    typed: `
export const typed = async (): Promise<void> => {
  const app = Fastify()
  await app.register(rateLimit, ${OPTIONS})
  app.setNotFoundHandler({ preHandler: app.rateLimit({ cost: 2 }) }, () => app.rateLimiter.peek('acme'))
  // @ts-expect-error: fre is no plan
  await app.register(rateLimit, { plans: { free: '1/min', pro: '2/min' }, defaultPlan: 'fre' })
  // @ts-expect-error: no cost
  app.get('/wrong', { config: { rateLimit: { cost: 'five' } } }, () => 'ok')
}
`,
  },
  koa: {
    variable: 'Koa',
    packages: ['koa@3.3.0', '@types/koa@3.0.3', '@types/content-disposition@0.5.9'],
    serve: `
const app = new Koa()
app.use(rateLimit({ limit: '2/min' }))
app.use((ctx) => { ctx.body = ctx.state.rateLimit?.plan })
${listen('app')}`,
    typed: `export const byPlan: Koa.Middleware = rateLimit(${OPTIONS})
${WRONG_DEFAULT}`,
  },
}
const NAMES = Object.keys(FRAMEWORKS)

type Imports = (name: string, framework: Framework) => string
const esm: Imports = (name, { variable }) =>
  `import ${variable} from '${name}'\nimport { rateLimit } from '@tollgate/${name}'\n`
const cjs: Imports = (name, { variable }) =>
  `const ${variable} = require('${name}')\nconst { rateLimit } = require('@tollgate/${name}')\n`
const cts: Imports = (name, { variable }) =>
  `import ${variable} = require('${name}')\nimport tollgate = require('@tollgate/${name}')\nconst { rateLimit } = tollgate\n`

/** A program for each framework. */
const programs = (extension: string, imports: Imports, isTyped = false): Record<string, string> =>
  Object.fromEntries(
    Object.entries(FRAMEWORKS).map(([name, framework]) => {
      const { serve, typed } = framework
      return [`${name}${extension}`, imports(name, framework) + MISTAKE + serve + (isTyped ? typed : '')]
    }),
  )

const STRICT = {
  target: 'es2022',
  module: 'nodenext',
  outDir: 'out',
  rootDir: '.',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  types: ['node'],
  // Koa's types conflict with the types that content-disposition now has itself.
  paths: { 'content-disposition': ['../node_modules/@types/content-disposition'] },
}
const PAGE = {
  ...{ target: 'es2022', lib: ['es2022', 'dom'], module: 'esnext', moduleResolution: 'bundler' },
  ...{ outDir: 'out', rootDir: '.', strict: true, skipLibCheck: false, types: [] },
}
const manifest = (type: string): string => JSON.stringify({ name: 'user', private: true, type })

/** A folder of the project, in which the type of modules is its own. */
const inFolder = (folder: string, files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]))

const FILES = {
  ...inFolder('esm', {
    'package.json': manifest('module'),
    ...programs('.js', esm),
    'metrics.js': importsOf(USED) + METRICS,
    'prom-client.js': importsOf(PROM_CLIENT_USED) + PROM_CLIENT,
    'faces.js': FACES_FILES.esm,
    'browser.js': BROWSER_FILES.esm,
    'stores.js': STORES_FILES.esm,
  }),
  ...inFolder('cjs', {
    'package.json': manifest('commonjs'),
    ...programs('.js', cjs),
    'metrics.js': requiresOf(USED) + METRICS,
    'prom-client.js': requiresOf(PROM_CLIENT_USED) + PROM_CLIENT,
    'faces.js': FACES_FILES.cjs,
    'stores.js': STORES_FILES.cjs,
  }),
  ...inFolder('typed', {
    'package.json': manifest('module'),
    'tsconfig.json': JSON.stringify({ compilerOptions: STRICT, include: ['*.ts', '*.cts'] }),
    ...programs('.ts', esm, true),
    ...programs('-cjs.cts', cts, true),
    'metrics.ts': TYPE + importsOf(USED) + METRICS + METRICS_TYPED,
    'prom-client.ts': importsOf(PROM_CLIENT_USED) + PROM_CLIENT,
    'faces.ts': FACES_FILES.typed,
    // In a .cts file, imports are compiled to require.
    'metrics-cjs.cts': TYPE + importsOf(USED) + METRICS + METRICS_TYPED,
    'prom-client-cjs.cts': importsOf(PROM_CLIENT_USED) + PROM_CLIENT,
    'faces-cjs.cts': FACES_FILES.typed,
  }),
  // As an application for browsers is set up: a bundler finds the modules, and there are no types of Node.
  ...inFolder('typed-page', {
    'package.json': manifest('module'),
    'tsconfig.json': JSON.stringify({ compilerOptions: PAGE, include: ['*.ts'] }),
    'browser.ts': BROWSER_FILES.typed,
  }),
  // Nothing is annotated: declarations of it name what the calls of Tollgate give.
  ...inFolder('declared', {
    'package.json': manifest('module'),
    'tsconfig.json': JSON.stringify({ compilerOptions: { ...STRICT, declaration: true }, include: ['*.ts'] }),
    'inferred.ts': INFERRED,
  }),
  // Apart: the types of @fastify/rate-limit declare the same names as those of @tollgate/fastify.
  ...inFolder('typed-stores', {
    'package.json': manifest('module'),
    'tsconfig.json': JSON.stringify({ compilerOptions: STRICT, include: ['*.ts', '*.cts'] }),
    'stores.ts': STORES_FILES.ts,
    'stores-cjs.cts': STORES_FILES.cts,
  }),
}
/** The page that a package's README must link to, where it is another than that on security. */
const PAGES: Readonly<Record<string, string>> = {
  admin: 'operations/dashboard',
  cli: 'operations/command-line',
  memcached: 'operations/memcached',
  metrics: 'operations/metrics',
  'store-contract': 'guides/writing-a-store',
}
const FRAMEWORK_PACKAGES = Object.values(FRAMEWORKS).flatMap(({ packages }) => packages)
/** The newest TypeScript, and the oldest one that the docs say will do. */
const TYPESCRIPT = ['typescript@7.0.2', 'oldest-typescript@npm:typescript@5.4.5', '@types/node@20.19.25']

let folder: string
let tarballs: string[]
let project: Project

/** One project, since an installation takes seconds. What is required there does not depend on the folder. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-packed-'))
  tarballs = await packPackages(PUBLISHED, folder)
  const packages = [
    ...tarballs,
    ...FRAMEWORK_PACKAGES,
    ...METRICS_PACKAGES,
    ...STORES_PACKAGES,
    ...TYPESCRIPT,
  ]
  project = await makeProject({ 'package.json': '{ "private": true }', ...FILES }, packages)
})

afterAll(() => {
  project?.remove()
  rmSync(folder, { recursive: true, force: true })
})

describe('what is published', () => {
  test.each(PUBLISHED)('%s: publint finds nothing', async (name) => {
    const tarball = tarballs[PUBLISHED.indexOf(name)] as string
    await exec(bin('publint'), ['run', tarball, '--strict'])
  })

  test('TypeScript finds the types of every package, however it resolves modules', async () => {
    const { stdout } = await exec('node', [join(__dirname, 'packed-types.mjs'), ...tarballs])
    expect(JSON.parse(stdout)).toEqual(
      Object.fromEntries(PUBLISHED.map((name) => [`@tollgate/${name}`, { types: 'included', problems: [] }])),
    )
  })

  /** A file of a tarball, as npm shows it. */
  const packedFile = async (name: string, file: string): Promise<string> => {
    const tarball = tarballs[PUBLISHED.indexOf(name)] as string
    return (await exec('tar', ['-xzOf', tarball, `package/${file}`])).stdout
  }

  test.each(PUBLISHED)('%s: package.json names the repository and the license', async (name) => {
    const { homepage, repository, bugs, license } = JSON.parse(await packedFile(name, 'package.json'))
    const directory = `packages/${name}`
    expect({ homepage, repository, bugs, license }).toEqual({
      homepage: `${HOME}/tree/main/${directory}#readme`,
      repository: { type: 'git', url: `git+${HOME}.git`, directory },
      bugs: { url: `${HOME}/issues` },
      license: 'MIT',
    })
    expect(await packedFile(name, 'LICENSE')).toContain('MIT')
  })

  test.each(PUBLISHED)('%s: has a README whose links work on npm', async (name) => {
    const text = await packedFile(name, 'README.md')
    expect(text.split('\n')[0]).toBe(`# @tollgate/${name}`)
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target)
    // Relative links do not work on npm.
    expect(links.filter((target) => !target?.startsWith('https://'))).toEqual([])
    expect(links).toContain(`${HOME}/blob/main/docs/${PAGES[name] ?? 'operations/security'}.md`)
  })

  test.each(['core', 'express', 'fastify', 'koa'])(
    '%s: has an AGENTS.md beside those it names',
    async (name) => {
      const text = await packedFile(name, 'AGENTS.md')
      expect(text).toBe(textOf(`packages/${name}/AGENTS.md`))
      // An installed package finds core beside itself, with npm and with pnpm.
      if (name !== 'core') expect(text).toContain('](../core/AGENTS.md)')
    },
  )

  const expectAllToServe = async (
    programsIn: string,
    extension: string,
    storesIn = programsIn,
  ): Promise<void> => {
    const output = (name: string, from = programsIn): Promise<string> =>
      project.run('node', [`${from}/${name}${extension}`])
    for (const name of NAMES)
      expect(await output(name)).toMatch(new RegExp(`^${name}(-cjs)?\n200,200,429\n$`))
    expect(await output('metrics')).toBe('denied 1,allowed 2\n')
    expect(await output('prom-client')).toBe('1,2 true\n')
    expect(await output('faces')).toBe(FACES_PRINT)
    expect(await output('stores', storesIn)).toBe(STORES_PRINT)
  }

  test('works in a bare ESM project', async () => {
    await expectAllToServe('esm', '.js')
    // Node runs it, too: a page may be rendered there.
    expect(await project.run('node', ['esm/browser.js'])).toBe(BROWSER_PRINT)
  })

  test('works in a bare CommonJS project', () => expectAllToServe('cjs', '.js'))

  test('typechecks in a strict TypeScript project, as ESM and as CommonJS, and runs', async () => {
    await Promise.all(
      ['typed', 'typed-page', 'declared', 'typed-stores'].map((one) =>
        project.run('node', ['node_modules/typescript/bin/tsc', '-p', one]),
      ),
    )
    await expectAllToServe('typed/out', '.js', 'typed-stores/out')
    await expectAllToServe('typed/out', '-cjs.cjs', 'typed-stores/out')
  })

  test('typechecks with the oldest TypeScript', async () => {
    const oldest = 'node_modules/oldest-typescript/lib/tsc.js'
    expect(await project.run('node', [oldest, '--version'])).toBe('Version 5.4.5\n')
    expect(await project.run('node', [oldest, '--noEmit', '-p', 'declared'])).toBe('')
  })
})
