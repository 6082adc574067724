// npm run bench: sets everything up and runs the benchmarks. Arguments go to them.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  // The cluster is started by a module of the tests, which is TypeScript.
  ...['--import', pathToFileURL(join(root, 'packages/faults/src/typescript.mjs')).href],
  join(root, 'packages/benchmarks/src/main.mjs'),
  ...process.argv.slice(2),
])
process.exit(code)
