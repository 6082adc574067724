// A release up to its last command, on a registry of our own: what npm would take, and what users would install from it.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeProject, type Project } from '../../src/index.ts'
import { root } from '../docs-pages.ts'
import { PUBLISHED } from '../published.ts'
import { startRegistry, type Registry } from './registry.ts'

const exec = promisify(execFile)
const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
const { version: pnpm } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devEngines
  .packageManager
const NEXT = version.replace(/\d+$/, (patch: string) => String(Number(patch) + 1))
const USED = ['express', 'memcached', 'metrics', 'stores']
const OTHERS = ['express@5.3.0', '@opentelemetry/api@1.9.1']

let folder: string
let registry: Registry
let output: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'))
  registry = await startRegistry()
  output = (await exec('node', ['tools/release.mjs', '--dry-run'], { cwd: root })).stdout
  cpSync(join(root, 'packed'), join(folder, 'packed'), { recursive: true })
})

afterAll(async () => {
  await registry.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Publishes the tarballs of the version that the packages have. */
async function publish(): Promise<string> {
  const { host } = new URL(registry.url)
  const env = { ...process.env, npm_config_registry: registry.url, [`npm_config_//${host}/:_authToken`]: 'a' }
  const args = ['tools/publish.mjs', join(folder, 'packed'), '--provenance=false']
  return (await exec('node', args, { cwd: root, env })).stdout
}

const names = (at: string): string[] => PUBLISHED.map((name) => `@tollgate/${name}@${at}`)

test('a dry run packs everything, and npm would publish it', () => {
  expect(output.trim().split('\n')).toEqual(names(version).map((name) => `+ ${name}`))
})

test.each(PUBLISHED)('%s: the SBOM names its dependencies, with their licenses', (name) => {
  const file = readdirSync(join(folder, 'packed')).find(
    (one) => one === `tollgate-${name}-${version}.cdx.json`,
  )
  const { bomFormat, metadata, components } = JSON.parse(
    readFileSync(join(folder, 'packed', String(file)), 'utf8'),
  )
  const { dependencies } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
  expect(bomFormat).toBe('CycloneDX')
  expect(metadata.component.purl).toBe(`pkg:npm/%40tollgate/${name}@${version}`)
  const purls: string[] = components.map(({ purl }: { purl: string }) => purl)
  for (const one of Object.keys(dependencies ?? {}))
    expect(purls).toContainEqual(expect.stringContaining(one.replace('@', '%40')))
  // One of the dependencies of ioredis has the second.
  for (const { licenses } of components) {
    expect(licenses).toEqual([{ license: { id: expect.stringMatching(/^(?:MIT|Apache-2\.0)$/) } }])
  }
})

describe('once it is published', () => {
  let newer: string

  beforeAll(async () => {
    await publish()
    newer = join(folder, 'newer')
    mkdirSync(newer)
    for (const name of ['core', 'memcached']) await publishNext(name)
  })

  /** Publishes a package again, as a later version that needs as late a core. */
  async function publishNext(name: string): Promise<void> {
    const into = join(newer, name)
    mkdirSync(into)
    const tarball = join(folder, 'packed', `tollgate-${name}-${version}.tgz`)
    await exec('tar', ['-xzf', tarball, '--strip-components=1', '-C', into])
    const manifest = readFileSync(join(into, 'package.json'), 'utf8')
    writeFileSync(
      join(into, 'package.json'),
      manifest.replaceAll(`"${version}"`, `"${NEXT}"`).replaceAll(`^${version}`, `^${NEXT}`),
    )
    const { host } = new URL(registry.url)
    const env = {
      ...process.env,
      npm_config_registry: registry.url,
      [`npm_config_//${host}/:_authToken`]: 'a',
    }
    await exec('npm', ['publish', into, '--provenance=false'], { env })
  }

  /** Prints the folders of core that the installed packages use, and whether they work together. */
  const PROGRAM = `
    const { createRequire } = require('node:module')
    const { dirname } = require('node:path')
    const { realpathSync } = require('node:fs')
    const coreOf = (name) => realpathSync(createRequire(require.resolve(name + '/package.json')).resolve('@tollgate/core'))
    const { createLimiter, ConfigError, rateLimit } = require('@tollgate/express')
    const { memcachedStore } = require('@tollgate/memcached')
    const { instrument } = require('@tollgate/metrics')
    const { tollgateStore } = require('@tollgate/stores/express-rate-limit')
    instrument(createLimiter({ limit: '1/min' })).stop()
    const mistakes = [() => memcachedStore(''), () => tollgateStore({}), () => rateLimit({ limit: 'wrong' })].map((make) => {
      try { make() } catch (error) { return error instanceof ConfigError }
    })
    const cores = ${JSON.stringify(USED)}.map((name) => coreOf('@tollgate/' + name))
    console.log(JSON.stringify({ cores: new Set(cores).size, mistakes }))`
  const FILES = (): Record<string, string> => ({
    'package.json': '{ "name": "user", "private": true }',
    '.npmrc': `@tollgate:registry=${registry.url}\n`,
    'main.js': PROGRAM,
  })
  const ONE = { cores: 1, mistakes: [true, true, true] }

  test('all is there, core first, and a second run publishes nothing', async () => {
    expect(registry.published.slice(0, PUBLISHED.length)).toEqual(names(version))
    expect((await publish()).trim().split('\n')).toEqual(
      names(version).map((name) => `${name} is already on npm`),
    )
    expect(registry.published).toHaveLength(PUBLISHED.length + 2)
  })

  const install = async (how: 'npm' | 'pnpm', ...packages: readonly string[]): Promise<Project> => {
    const project = await makeProject(FILES(), how === 'npm' ? packages : [])
    if (how === 'pnpm') await project.run('npx', ['-y', `pnpm@${pnpm}`, 'add', ...packages])
    return project
  }

  test.each(['npm', 'pnpm'] as const)(
    'an adapter and what it is used with share one core: %s',
    async (how) => {
      const project = await install(how, ...OTHERS, ...USED.map((name) => `@tollgate/${name}@${version}`))
      expect(JSON.parse(await project.run('node', ['main.js']))).toEqual(ONE)
      project.remove()
    },
  )

  test.each(['npm', 'pnpm'] as const)('also if one of them is newer: %s', async (how) => {
    const used = USED.map((name) => `@tollgate/${name}@${name === 'memcached' ? NEXT : version}`)
    const project = await install(how, ...OTHERS, ...used)
    expect(JSON.parse(await project.run('node', ['main.js']))).toEqual(ONE)
    project.remove()
  })
})
