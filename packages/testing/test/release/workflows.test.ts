// The workflows cannot run here. What can be known without running them is checked.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import { root } from '../docs-pages.ts'

type Permissions = Readonly<Record<string, string>>
interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Job {
  readonly needs?: string | readonly string[]
  readonly uses?: string
  readonly steps?: readonly Step[]
  readonly permissions?: Permissions
  readonly environment?: string
  readonly 'timeout-minutes'?: number
  readonly strategy?: {
    readonly matrix: { readonly include: readonly { readonly node: number; readonly server: string }[] }
  }
}
interface Workflow {
  readonly permissions: Permissions
  readonly defaults: object
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = '.github/workflows'
const NAMES = readdirSync(join(root, FOLDER)).sort()
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const { scripts, engines } = JSON.parse(textOf('package.json'))

function parsed(file: string): unknown {
  const document = parseDocument(textOf(file), { strict: true, uniqueKeys: true })
  expect({ file, problems: [...document.errors, ...document.warnings].map(String) }).toEqual({
    file,
    problems: [],
  })
  return document.toJS()
}
const workflow = (name: string): Workflow => parsed(`${FOLDER}/${name}`) as Workflow
const stepsOf = ({ jobs }: Workflow): readonly Step[] =>
  Object.values(jobs).flatMap(({ steps = [] }) => steps)
const runsOf = (name: string): string[] => stepsOf(workflow(name)).flatMap(({ run }) => run ?? [])

test('there are the workflows that CONTRIBUTING.md and npm know', () => {
  expect(NAMES).toEqual(['ci.yml', 'release.yml'])
})

describe.each(NAMES)('%s', (name) => {
  test('pins every action by a full hash, with its version beside it', () => {
    const lines = textOf(`${FOLDER}/${name}`).match(/^.*\buses:.*$/gm) ?? []
    const uses = [...stepsOf(workflow(name)), ...Object.values(workflow(name).jobs)].filter((one) => one.uses)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines).toHaveLength(uses.length)
    const own = /uses: \.\/\.github\/workflows\/([\w-]+\.yml)$/
    const pinned = /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
    expect(lines.filter((line) => !pinned.test(line) && !own.test(line))).toEqual([])
    for (const line of lines) expect(NAMES).toContain(own.exec(line)?.[1] ?? name)
  })

  test('may only read, unless a job says what it writes', () => {
    const { permissions, jobs } = workflow(name)
    expect(permissions).toEqual({ contents: 'read' })
    const written = Object.entries(jobs).flatMap(([job, { permissions: own = {} }]) =>
      Object.entries(own).flatMap(([what, how]) => (how === 'read' ? [] : `${job}: ${what}`)),
    )
    const allowed = ['announce: contents', 'publish: id-token', 'version: contents', 'version: pull-requests']
    expect(written.sort()).toEqual(name === 'release.yml' ? allowed : [])
  })

  test('has no secret, and puts nothing from outside into a script', () => {
    expect(textOf(`${FOLDER}/${name}`)).not.toMatch(
      /secrets\b|_authToken|NODE_AUTH_TOKEN|pull_request_target/,
    )
    for (const run of runsOf(name)) expect(run).not.toContain('${{')
  })

  test('has jobs that end, and that need jobs that are there', () => {
    const { jobs } = workflow(name)
    for (const [job, { needs = [], uses, 'timeout-minutes': minutes = 0 }] of Object.entries(jobs)) {
      for (const one of [needs].flat()) expect(Object.keys(jobs)).toContain(one)
      if (!uses) expect({ job, hasEnd: minutes > 0 }).toEqual({ job, hasEnd: true })
    }
  })

  test('runs scripts that bash understands', () => {
    for (const run of runsOf(name)) {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' })
      expect({ run, status, stderr }).toEqual({ run, status: 0, stderr: '' })
    }
  })

  test('runs npm scripts, programs and files that are there', () => {
    const runs = runsOf(name).join('\n')
    const named = [...runs.matchAll(/\bnpm (?:run )?([\w:-]+)/g)].map(([, script = '']) => script)
    for (const script of named) expect(Object.keys(scripts)).toContain(script)
    const files = [...runs.matchAll(/\bnode ([\w./-]+)/g)].map(([, file = '']) => file)
    for (const file of files)
      expect({ file, isThere: existsSync(join(root, file)) }).toEqual({ file, isThere: true })
    for (const [file] of runs.matchAll(/^\.\S+/gm)) accessSync(join(root, file), constants.X_OK)
    expect(named.length + files.length + [...runs.matchAll(/^\.\S+/gm)].length).toBeGreaterThan(0)
  })
})

test('an action has one hash in all workflows', () => {
  const uses = NAMES.flatMap((name) => stepsOf(workflow(name))).flatMap((step) => step.uses ?? [])
  const byName = new Map(uses.map((use) => [use.split('@')[0], use]))
  expect([...new Set(uses)].sort()).toEqual([...byName.values()].sort())
})

test('CI runs on the oldest Node that packages allow, on later ones, and on Redis and Valkey', () => {
  const matrix = workflow('ci.yml').jobs['test']?.strategy?.matrix.include ?? []
  expect(Math.min(...matrix.map(({ node }) => node))).toBe(Number(/\d+/.exec(engines.node)))
  expect(new Set(matrix.map(({ node }) => node)).size).toBeGreaterThanOrEqual(3)
  expect(new Set(matrix.map(({ server }) => server))).toEqual(new Set(['redis-server', 'valkey-server']))
})

test('the job that may publish runs in the environment that npm trusts, and installs nothing', () => {
  const { environment, steps = [] } = workflow('release.yml').jobs['publish'] ?? {}
  expect(environment).toBe('npm')
  expect(steps.flatMap(({ run }) => run ?? [])).toEqual(['node tools/publish.mjs packed'])
  const installed = [
    'tools/publish.mjs',
    'tools/release-state.mjs',
    'tools/changelog.mjs',
    'tools/workspace.mjs',
  ]
    .flatMap((file) =>
      [...textOf(file).matchAll(/^import .* from '(.*)'$/gm)].map(([, module = '']) => module),
    )
    .filter((module) => !module.startsWith('node:') && !module.startsWith('./'))
  expect(installed).toEqual([])
})

test('dependencies of packages and of workflows are updated', () => {
  const { version, updates } = parsed('.github/dependabot.yml') as {
    version: number
    updates: { 'package-ecosystem': string; schedule: object }[]
  }
  expect(version).toBe(2)
  expect(updates.map((one) => one['package-ecosystem'])).toEqual(['npm', 'github-actions'])
})
