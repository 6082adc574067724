// npm run leases: sets everything up and lets processes share a tenant by leases. Arguments go to the program.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root, run } from './workspace.mjs'

const source = join(root, 'packages/faults/src')
await prepare()
const { code } = await run(process.execPath, [
  ...['--import', pathToFileURL(join(source, 'typescript.mjs')).href],
  join(source, 'leases/main.ts'),
  ...process.argv.slice(2),
])
process.exit(code)
