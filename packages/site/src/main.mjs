// Builds the docs site; with --serve also shows it, on this machine alone. --out names another folder than dist.
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import { serve } from './serve.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { serve: { type: 'boolean' }, out: { type: 'string' }, port: { type: 'string', default: '0' } },
})

const folder = resolve(values.out ?? join(here, 'dist'))

// The pages are named as in the repository.
process.chdir(join(here, '../..'))
try {
  await build(here, { outDir: folder })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
if (values.serve) serve(folder, Number(values.port))
else process.stdout.write(`The site is in ${folder}. It needs a server: npm run site -- --serve shows it.\n`)
