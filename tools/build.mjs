// Builds the package of the current folder: ESM to dist/esm, CommonJS to dist/cjs, both with types and source maps. With --files, each
// source becomes a file of its own, for tools that look at single files; that is not published.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bundle } from './bundle.mjs'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

function compile(...options) {
  const shared = ['-p', 'tsconfig.build.json']
  execFileSync(process.execPath, [tsc, ...shared, ...options], { stdio: 'inherit' })
}

rmSync('dist', { recursive: true, force: true })
if (process.argv.includes('--files')) {
  compile('--outDir', 'dist/esm')
  compile(
    ...['--outDir', 'dist/cjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
    ...['--verbatimModuleSyntax', 'false'],
  )
} else {
  compile('--outDir', 'dist/esm', '--emitDeclarationOnly')
  cpSync('dist/esm', 'dist/cjs', { recursive: true })
  await bundle(JSON.parse(readFileSync('package.json', 'utf8')))
}
writeFileSync('dist/cjs/package.json', '{"type":"commonjs"}\n')
