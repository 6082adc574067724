// Builds the package of the current folder: ESM to dist/esm, CommonJS to dist/cjs, both with types and source maps. With --files, each
// source becomes a file of its own, for tools that look at single files; that is not published.
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bundle } from './bundle.mjs'
import { entryPointsOf, reachableFrom } from './declarations.mjs'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

function compile(...options) {
  const shared = ['-p', 'tsconfig.build.json']
  execFileSync(process.execPath, [tsc, ...shared, ...options], { stdio: 'inherit' })
}

/** Removes the declarations that no entry point needs. */
function prune(folder, { exports }) {
  const needed = reachableFrom(entryPointsOf(exports).map(({ types }) => join(types)))
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name)
    if (file.endsWith('.d.ts') && !needed.has(file)) rmSync(file)
  }
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync('dist', { recursive: true, force: true })
if (process.argv.includes('--files')) {
  compile('--outDir', 'dist/esm')
  compile(
    ...['--outDir', 'dist/cjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
    ...['--verbatimModuleSyntax', 'false'],
  )
} else {
  compile('--outDir', 'dist/esm', '--emitDeclarationOnly')
  prune('dist/esm', manifest)
  cpSync('dist/esm', 'dist/cjs', { recursive: true })
  await bundle(manifest)
}
writeFileSync('dist/cjs/package.json', '{"type":"commonjs"}\n')
