// npm run pack: builds the packages as tarballs in packed/, to be installed in your own app with npm.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root, viaPnpm } from './workspace.mjs'

const into = join(root, 'packed')

await prepare()
mkdirSync(into, { recursive: true })
for (const folder of readdirSync(join(root, 'packages'))) {
  const { private: isPrivate, name } = JSON.parse(
    readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'),
  )
  if (isPrivate) continue
  const { code, output } = await viaPnpm(['--filter', name, 'pack', '--pack-destination', into], {
    quiet: true,
  })
  if (code !== 0) {
    process.stderr.write(output)
    process.exit(1)
  }
}
process.stdout.write(
  `${readdirSync(into)
    .map((file) => `packed/${file}\n`)
    .join('')}`,
)
