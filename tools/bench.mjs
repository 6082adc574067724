// npm run bench: installs, builds and runs the benchmarks. --cluster runs the benchmark on a Redis Cluster instead.
// All other arguments go to the benchmark.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const args = process.argv.slice(2)
const isCluster = args.includes('--cluster')
const { code } = await run(process.execPath, [
  // The benchmarks start the cluster with the code of the tests, which is TypeScript.
  ...['--import', pathToFileURL(join(root, 'packages/faults/src/typescript.mjs')).href],
  join(root, 'packages/benchmarks/src', isCluster ? 'cluster.mjs' : 'main.mjs'),
  ...args.filter((arg) => arg !== '--cluster'),
])
process.exit(code)
