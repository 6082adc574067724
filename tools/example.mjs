// npm run example NAME: installs and builds what has changed, and runs one of the examples. Further arguments go to it.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root, run } from './workspace.mjs'

const [name = '', ...args] = process.argv.slice(2)
const mainOf = (example) => join(root, 'examples', example, example === 'demo' ? 'src/main.js' : 'try.js')
if (!/^[\w-]+$/.test(name) || !existsSync(mainOf(name))) {
  const names = readdirSync(join(root, 'examples')).filter((example) => existsSync(mainOf(example)))
  process.stderr.write(`Choose an example: npm run example NAME, where NAME is one of ${names.join(', ')}\n`)
  process.exit(1)
}
await prepare()
const { code } = await run(process.execPath, [mainOf(name), ...args])
process.exit(code)
