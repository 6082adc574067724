// npm run bench: sets everything up and runs the benchmarks. Arguments go to them; --cluster runs those of a cluster.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const args = process.argv.slice(2)
const isCluster = args.includes('--cluster')
const { code } = await run(process.execPath, [
  // The cluster is started by a module of the tests, which is TypeScript.
  ...['--import', pathToFileURL(join(root, 'packages/faults/src/typescript.mjs')).href],
  join(root, 'packages/benchmarks/src', isCluster ? 'cluster.mjs' : 'main.mjs'),
  ...args.filter((arg) => arg !== '--cluster'),
])
process.exit(code)
