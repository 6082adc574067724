// npm run pack: builds the packages as tarballs in packed/, to be installed in your own app with npm.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, publishedFolders, root, viaPnpm } from './workspace.mjs'

const into = join(root, 'packed')
const filters = publishedFolders.flatMap((folder) => ['--filter', `./${folder}`])

await prepare()
rmSync(into, { recursive: true, force: true })
mkdirSync(into)
const { code, output } = await viaPnpm([...filters, 'pack', '--pack-destination', into], { quiet: true })
if (code !== 0) {
  process.stderr.write(output)
  process.exit(1)
}
process.stdout.write(
  `${readdirSync(into)
    .map((file) => `packed/${file}\n`)
    .join('')}`,
)
