// A folder with NAME.ts and NAME.lua, and a line of the registry add an algorithm, since it contains everything about itself. Tried with
// an algorithm that exists only here, on a copy of this package that is otherwise unchanged.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testPrefix, testRedisUrl } from '@tollgate/testing'

const exec = promisify(execFile)
const core = join(__dirname, '../..')
const root = join(core, '../..')
const SOURCES = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
const fixture = (name: string): string => join(__dirname, 'fixtures', `${name}.txt`)

let folder: string
let copy: string

/** Runs a program in the copy. Resolves to its output. */
const run = (...args: string[]): Promise<string> => runIn(copy, ...args)

async function runIn(cwd: string, ...args: string[]): Promise<string> {
  try {
    return (await exec(process.execPath, args, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error })
  }
}

function copyPackage(): void {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-algorithm-'))
  copy = join(folder, 'packages/core')
  for (const part of [...SOURCES, 'scripts']) cpSync(join(core, part), join(copy, part), { recursive: true })
  cpSync(join(root, 'tsconfig.base.json'), join(folder, 'tsconfig.base.json'))
  for (const tool of ['build.mjs', 'bundle.mjs', 'declarations.mjs', 'line-breaks.mjs'])
    cpSync(join(root, 'tools', tool), join(folder, 'tools', tool))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  symlinkSync(join(core, 'node_modules'), join(copy, 'node_modules'))
}

/** Builds a copy of the contract of stores on the copied package, so that it tries the added algorithm, too. */
async function buildContract(): Promise<void> {
  const contract = join(folder, 'packages/store-contract')
  for (const part of SOURCES)
    cpSync(join(root, 'packages/store-contract', part), join(contract, part), { recursive: true })
  mkdirSync(join(contract, 'node_modules/@tollgate'), { recursive: true })
  symlinkSync(copy, join(contract, 'node_modules/@tollgate/core'))
  await runIn(contract, '../../tools/build.mjs')
}

/** Everything that is needed to add an algorithm. */
function addAlgorithm(): void {
  for (const file of ['leaky-steps.ts', 'leaky-steps.lua']) {
    cpSync(fixture(file), join(copy, 'src/algorithms/leaky-steps', file))
  }
  const registry = join(copy, 'src/algorithms/registry.ts')
  const text = `import { leakySteps } from './leaky-steps/leaky-steps.js'\n${readFileSync(registry, 'utf8')}`
  const added = text.replace('const registry = {\n', "const registry = {\n  'leaky-steps': leakySteps,\n")
  expect(added).not.toBe(text)
  writeFileSync(registry, added)
}

beforeAll(async () => {
  copyPackage()
  addAlgorithm()
  await run('scripts/embed-lua.mjs')
  await run('../../tools/build.mjs')
  await buildContract()
  cpSync(fixture('use-leaky-steps.cjs'), join(copy, 'use-leaky-steps.cjs'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a folder of two files and a line of the registry add an algorithm with an option of its own', async () => {
  const said = JSON.parse(await run('use-leaky-steps.cjs', testRedisUrl(), testPrefix()))
  const decided = [true, false, 2, true, true, 334]
  expect(said).toEqual({
    moments: expect.any(Number),
    differing: [],
    failed: [],
    memory: decided,
    redis: decided,
    wrong: expect.stringMatching(
      /^ERR_TOLLGATE_CONFIG plans\.free\[0\]\.steps: got 0, expected a whole number/,
    ),
    anothers: expect.stringMatching(/plans\.free\[0\]\.burst: .*this limit is a leaky-steps/),
    onAnother: expect.stringMatching(
      /plans\.free\[0\]\.steps: got 3, but only a leaky-steps has steps.* write algorithm: 'leaky-steps'/,
    ),
    unknown: expect.stringMatching(/algorithm: got 'leaky', expected .*'leaky-steps'/),
  })
  expect(said.moments).toBeGreaterThan(2000)
})

const TYPED = `import { createLimiter, type LimitInput } from '@tollgate/core'
const limit: LimitInput = { quota: 5, window: 's', algorithm: 'leaky-steps', steps: 2 }
createLimiter({ limit })
// @ts-expect-error its option is a number
createLimiter({ limit: { quota: 5, window: 's', steps: 'two' } })
`

test('the types know its name and its option', async () => {
  writeFileSync(join(copy, 'use.mts'), TYPED)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--ignoreConfig', '--module', 'nodenext', '--skipLibCheck']
  expect(await run(tsc, ...options, '--types', 'node', 'use.mts')).toBe('')
})
