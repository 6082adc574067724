// npm run in-flight: sets everything up and lets processes share the slots of subjects. Arguments go to the program.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root, run } from './workspace.mjs'

const source = join(root, 'packages/faults/src')
await prepare()
const { code } = await run(process.execPath, [
  ...['--import', pathToFileURL(join(source, 'typescript.mjs')).href],
  join(source, 'in-flight/main.ts'),
  ...process.argv.slice(2),
])
process.exit(code)
