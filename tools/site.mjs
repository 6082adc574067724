// npm run site: sets everything up and builds the docs site into packages/site/dist. With --serve it also shows the site.
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

await prepare()
const { code } = await run(process.execPath, [
  join(root, 'packages/site/src/main.mjs'),
  ...process.argv.slice(2),
])
process.exit(code)
