// npm run pictures: sets everything up and draws the pictures of the docs. --check only says which are out of date.
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  join(root, 'packages/benchmarks/src/pictures/main.mjs'),
  ...process.argv.slice(2),
])
process.exit(code)
