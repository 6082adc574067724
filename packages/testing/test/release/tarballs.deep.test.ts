// What is in the tarballs that npm gets.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packPackages } from '../../src/index.ts'
import { PUBLISHED } from '../published.ts'

interface Size {
  /** kB that npm downloads. */
  readonly packed: number
  /** kB on the disk of a user. */
  readonly unpacked: number
  readonly files: number
}

/** The most that a package may have: about a twentieth above what it has, with room for its texts. A larger one needs a reason. */
const BUDGET: Readonly<Record<string, Size>> = {
  admin: { packed: 176, unpacked: 474, files: 64 },
  cli: { packed: 178, unpacked: 545, files: 58 },
  core: { packed: 1700, unpacked: 6100, files: 550 },
  express: { packed: 13, unpacked: 38, files: 13 },
  fastify: { packed: 32, unpacked: 112, files: 21 },
  koa: { packed: 14, unpacked: 43, files: 13 },
  memcached: { packed: 98, unpacked: 315, files: 57 },
  metrics: { packed: 43, unpacked: 216, files: 44 },
  'store-contract': { packed: 130, unpacked: 505, files: 47 },
  stores: { packed: 37, unpacked: 153, files: 58 },
}

let folder: string
let tarballs: readonly string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-tarballs-'))
  tarballs = await packPackages(PUBLISHED, folder)
  for (const [index, name] of PUBLISHED.entries()) {
    mkdirSync(unpacked(name))
    execFileSync('tar', ['-xzf', tarballs[index] as string, '--strip-components=1', '-C', unpacked(name)])
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const unpacked = (name: string): string => join(folder, name)

const filesOf = (name: string): string[] =>
  readdirSync(unpacked(name), { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(unpacked(name), file)).isFile(),
  )

const manifestOf = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(unpacked(name), 'package.json'), 'utf8'))

/** All texts in a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** The modules that the code and the declarations of a package import, each with the file that does. */
const importsOf = (name: string): (readonly [file: string, module: string])[] =>
  filesOf(name)
    .filter((file) => /^dist.*\.(js|d\.ts)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(unpacked(name), file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
      const found = text.matchAll(
        /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["']((?:\.|@|node:)?[\w./@:-]+)["']/g,
      )
      return [...found].map(([, module = '']) => [file, module] as const)
    })

describe.each(PUBLISHED)('%s', (name) => {
  test('package.json has nothing that only this repository can use', () => {
    const manifest = manifestOf(name)
    expect(manifest).not.toHaveProperty('devDependencies')
    expect(manifest).not.toHaveProperty('scripts')
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|@tollgate\/source/)
    expect(manifest['publishConfig']).toEqual({ access: 'public', provenance: true })
  })

  test('package.json names only files that are there', () => {
    const { main, module, types, exports, typesVersions } = manifestOf(name)
    const named = textsIn([main, module, types, exports, typesVersions])
    expect(named.length).toBeGreaterThan(4)
    expect(named.filter((file) => !existsSync(join(unpacked(name), file)))).toEqual([])
  })

  test('code and declarations import only files that are there, and packages that it declares', () => {
    const { dependencies, peerDependencies } = manifestOf(name)
    const declared = Object.keys({ ...Object(dependencies), ...Object(peerDependencies) })
    const isDeclared = (module: string): boolean =>
      module.startsWith('node:') || declared.some((one) => module === one || module.startsWith(`${one}/`))
    const isThere = (file: string, module: string): boolean => {
      const target = join(unpacked(name), dirname(file), module)
      return existsSync(file.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target)
    }
    const imports = importsOf(name)
    expect(imports.length).toBeGreaterThan(2)
    const wrong = imports.filter(([file, module]) =>
      module.startsWith('.') ? !isThere(file, module) : !isDeclared(module),
    )
    expect(wrong).toEqual([])
  })

  test('source maps are there, with the sources that they name', () => {
    const at = (file: string, other: string): string => join(unpacked(name), dirname(file), other)
    const code = filesOf(name).filter((file) => file.endsWith('.js'))
    const maps = code.flatMap((file) => {
      const text = readFileSync(join(unpacked(name), file), 'utf8')
      return [...text.matchAll(/^\/\/# sourceMappingURL=(.*)$/gm)].map(([, map = '']) => at(file, map))
    })
    expect(maps.length).toBeGreaterThanOrEqual(2)
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }
      expect(sources.filter((source) => !existsSync(join(dirname(map), source)))).toEqual([])
    }
  })

  test('is as small as it was', () => {
    const files = filesOf(name)
    const bytes = files.reduce((sum, file) => sum + statSync(join(unpacked(name), file)).size, 0)
    const packed = statSync(tarballs[PUBLISHED.indexOf(name)] as string).size
    const size = { packed: packed / 1000, unpacked: bytes / 1000, files: files.length }
    const budget = BUDGET[name] as Size
    const over = Object.entries(budget).filter(([key, most]) => size[key as keyof Size] > most)
    expect({ size, over }).toEqual({ size, over: [] })
  })
})
