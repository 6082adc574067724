import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeProject, packPackages, type Project } from '../src/index.ts'

jest.setTimeout(120_000)

const exec = promisify(execFile)
const bin = (name: string): string => resolve(__dirname, '../node_modules/.bin', name)
const PACKAGES = ['core', 'express']

const SERVE = `
const app = express()
app.use(rateLimit({ limit: '2/min' }))
app.get('/', (_req, res) => { res.send('ok') })
const server = app.listen(0, '127.0.0.1', async () => {
  const statuses = []
  for (let i = 0; i < 3; i += 1) statuses.push((await fetch('http://127.0.0.1:' + server.address().port)).status)
  console.log(statuses.join())
  server.close()
  server.closeAllConnections()
})
`
const TYPED = `
${SERVE.replace('const statuses = []', 'const statuses: number[] = []').replace('server.address().port', '(server.address() as AddressInfo).port')}
export const byPlan: RequestHandler = rateLimit({
  plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
  identify: (req) => ({ id: String(req.get('x-api-key')), plan: 'free' }),
})
`
const TYPES = "import type { RequestHandler } from 'express'\nimport type { AddressInfo } from 'node:net'"
const ESM = "import express from 'express'\nimport { rateLimit } from '@tollgate/express'"
const CJS = "const express = require('express')\nconst { rateLimit } = require('@tollgate/express')"
const CTS =
  "import express = require('express')\nimport tollgate = require('@tollgate/express')\nconst { rateLimit } = tollgate"
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
}
const manifest = (type: string): string => JSON.stringify({ name: 'user', private: true, type })

let folder: string
let tarballs: string[]
const projects: Project[] = []

const project = async (files: Record<string, string>, ...packages: string[]): Promise<Project> => {
  const made = await makeProject(files, [...tarballs, 'express@5.3.0', ...packages])
  projects.push(made)
  return made
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-packed-'))
  tarballs = await packPackages(PACKAGES, folder)
})

afterAll(() => {
  for (const { remove } of projects) remove()
  rmSync(folder, { recursive: true, force: true })
})

describe('what is published', () => {
  test.each(PACKAGES)('%s: publint and attw find nothing', async (name) => {
    const tarball = tarballs[PACKAGES.indexOf(name)] as string
    await exec(bin('publint'), ['run', tarball, '--strict'])
    await exec(bin('attw'), [tarball, '--no-color'])
  })

  test('works in a bare ESM project', async () => {
    const { run } = await project({ 'package.json': manifest('module'), 'main.js': ESM + SERVE })
    expect(await run('node', ['main.js'])).toBe('200,200,429\n')
  })

  test('works in a bare CommonJS project', async () => {
    const { run } = await project({ 'package.json': manifest('commonjs'), 'main.js': CJS + SERVE })
    expect(await run('node', ['main.js'])).toBe('200,200,429\n')
  })

  test('typechecks in a strict TypeScript project, as ESM and as CommonJS, and runs', async () => {
    const files = {
      'package.json': manifest('module'),
      'tsconfig.json': JSON.stringify({ compilerOptions: STRICT, include: ['*.ts', '*.cts'] }),
      'main.ts': `${TYPES}\n${ESM}${TYPED}`,
      'main-cjs.cts': `${TYPES}\n${CTS}${TYPED}`,
    }
    const { run } = await project(files, 'typescript@7.0.2', '@types/node@20.19.25', '@types/express@5.0.6')
    await run('npx', ['tsc', '--noEmit'])
    await run('npx', ['tsc'])
    expect(await run('node', ['out/main.js'])).toBe('200,200,429\n')
    expect(await run('node', ['out/main-cjs.cjs'])).toBe('200,200,429\n')
  })
})
