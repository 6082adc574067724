// npm run bench: sets everything up and runs the benchmarks. Arguments are theirs.
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  join(root, 'packages/benchmarks/src/main.mjs'),
  ...process.argv.slice(2),
])
process.exit(code)
