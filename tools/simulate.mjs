// npm run simulate: sets everything up and simulates a fleet with leases. Arguments go to the program.
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  join(root, 'packages/benchmarks/src/simulation/main.mjs'),
  ...process.argv.slice(2),
])
process.exit(code)
