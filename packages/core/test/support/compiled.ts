// Core as JavaScript, for programs that run in processes of their own.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { transformSync } from '@swc/core'

const CORE = join(__dirname, '../..')

/** A new folder with the sources of core, what core may import, and the program as `program.js`. */
export function compiledWith(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-compiled-'))
  const source = join(CORE, 'src')
  for (const file of readdirSync(source, { recursive: true }).map(String)) {
    if (!file.endsWith('.ts')) continue
    const jsc = { target: 'es2022', parser: { syntax: 'typescript' } } as const
    const { code } = transformSync(readFileSync(join(source, file), 'utf8'), { jsc, module: { type: 'es6' } })
    const to = join(folder, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, code)
  }
  symlinkSync(join(CORE, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'program.js'), program)
  return folder
}
