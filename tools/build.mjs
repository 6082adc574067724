// Builds the package of the current folder twice with tsc: ESM to dist/esm, CommonJS to dist/cjs.
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

function compile(...options) {
  const shared = ['-p', 'tsconfig.build.json']
  execFileSync(process.execPath, [tsc, ...shared, ...options], { stdio: 'inherit' })
}

rmSync('dist', { recursive: true, force: true })
compile('--outDir', 'dist/esm')
compile(
  ...['--outDir', 'dist/cjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
  ...['--verbatimModuleSyntax', 'false'],
)
writeFileSync('dist/cjs/package.json', '{"type":"commonjs"}\n')
