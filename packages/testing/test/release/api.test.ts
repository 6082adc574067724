// The reports of what packages export, api.txt in each: they change with the change that they report.
import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../docs-pages.ts'
import { PUBLISHED } from '../published.ts'

/** The reports of built packages in these folders, or their pages. */
function reportsOf(folders: readonly string[], how: 'apiOf' | 'pageOf' = 'apiOf'): string[] {
  const program = `
    import { ${how} } from ${JSON.stringify(pathToFileURL(join(root, 'tools/api.mjs')).href)}
    console.log(JSON.stringify(${JSON.stringify(folders)}.map((folder) => ${how}(folder))))`
  return JSON.parse(execFileSync('node', ['--input-type=module', '-e', program], { encoding: 'utf8' }))
}

test('say what the packages export', () => {
  const folders = PUBLISHED.map((name) => join(root, 'packages', name))
  const written = folders.map((folder) => readFileSync(join(folder, 'api.txt'), 'utf8'))
  const built = reportsOf(folders)
  // If this fails, what users can call has changed. Is that meant? `npm run api` writes it down.
  for (const [index, name] of PUBLISHED.entries())
    expect({ name, api: built[index] }).toEqual({ name, api: written[index] })
})

test('the pages of docs/reference/api have every export with its docstring', () => {
  const folders = PUBLISHED.map((name) => join(root, 'packages', name))
  const built = reportsOf(folders, 'pageOf')
  for (const [index, name] of PUBLISHED.entries())
    expect(built[index]).toBe(readFileSync(join(root, `docs/reference/api/${name}.md`), 'utf8'))
  const core = built[PUBLISHED.indexOf('core')] ?? ''
  expect(core).toMatch(
    /### createLimiter\n\nCreates a limiter, .*\n\n- Throws: `ConfigError` when an option is wrong.*\n\n```typescript\nfunction createLimiter</,
  )
  expect(core).not.toMatch(/#private|private readonly/)
})

describe('a report', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-api-'))
    const exports = { '.': { import: { types: './a.d.ts' } }, './b': { import: { types: './b.d.ts' } } }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'one', exports }))
    writeFileSync(
      join(folder, 'a.d.ts'),
      `import type { Hidden } from './c.js';
export * from './c.js';
export * from 'other';
export { first as renamed } from './b.js';
/** What it does. */
export declare class Shown<T> extends Array<T> {
    #secret: string;
    private readonly kept;
    /** In ms. */
    ask(what: Hidden['length']): void;
}
declare const unused: number;
`,
    )
    writeFileSync(
      join(folder, 'b.d.ts'),
      `export declare function first(a: string): void;\nexport declare function first(a: number): void;\n`,
    )
    writeFileSync(
      join(folder, 'c.d.ts'),
      `export interface Open {\n    readonly hidden: Hidden;\n}\ninterface Hidden {\n    length: 1;\n}\nexport type { Hidden as Length };\n`,
    )
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('has each export once, without comments and private members', () => {
    expect(reportsOf([folder])).toEqual([
      `# one

export * from 'other'
Hidden as Length: interface Hidden {
    length: 1;
}
interface Open {
    readonly hidden: Hidden;
}
class Shown<T> extends Array<T> {
    ask(what: Hidden['length']): void;
}
first as renamed: function first(a: string): void;
function first(a: number): void;

# one/b

also exports: first
`,
    ])
  })

  test('changes with the types that no entry point exports', () => {
    const changed = `${folder}-changed`
    const hidden = readFileSync(join(folder, 'c.d.ts'), 'utf8').replace(
      'export type { Hidden as Length };\n',
      '',
    )
    writeFileSync(join(folder, 'c.d.ts'), hidden)
    appendFileSync(join(folder, 'a.d.ts'), 'export declare const d: import("./d.js").Deep;\n')
    writeFileSync(join(folder, 'd.d.ts'), 'export type Deep = 1;\n')
    cpSync(folder, changed, { recursive: true })
    writeFileSync(join(changed, 'c.d.ts'), hidden.replace('length: 1', 'length: 2'))
    const [before = '', after = ''] = reportsOf([folder, changed])
    rmSync(changed, { recursive: true, force: true })
    expect(before.split('# Types that these mention\n\n')[1]).toBe(
      'type Deep = 1;\ninterface Hidden {\n    length: 1;\n}\n',
    )
    expect(after).toBe(before.replace('length: 1', 'length: 2'))
  })
})
