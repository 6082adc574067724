// npm start: sets everything up and runs the demo. Arguments go to the demo.
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  join(root, 'examples/demo/src/main.js'),
  ...process.argv.slice(2),
])
process.exit(code)
