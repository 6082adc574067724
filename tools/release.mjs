// npm run release -- --dry-run: does all of a release but the upload. It packs, lists what each package consists of (SBOM), and has
// npm try to publish. The workflow takes packed/ from there. Without --dry-run it publishes; arguments go to npm.
import { releaseState } from './release-state.mjs'
import { publishedFolders, run, step, viaPnpm } from './workspace.mjs'

const args = process.argv.slice(2)
const isDryRun = args.includes('--dry-run')
const node = (...given) => run(process.execPath, given, { quiet: true })

const steps = {
  pack: () => node('tools/pack.mjs'),
  SBOM: listContents,
  ...(!isDryRun && { 'state of the release': checkState }),
}
for (const [name, work] of Object.entries(steps)) if ((await step(name, work)) !== 0) process.exit(1)
const { code } = await run(process.execPath, ['tools/publish.mjs', 'packed', ...args])
process.exit(code)

/** An SBOM of each package, in CycloneDX. */
function listContents() {
  const filters = publishedFolders.flatMap((folder) => ['--filter', `./${folder}`])
  const options = ['--sbom-format', 'cyclonedx', '--prod', '--split', '--out', 'packed/%s-%v.cdx.json']
  return viaPnpm([...filters, 'sbom', ...options], { quiet: true })
}

async function checkState() {
  const { todo, why } = await releaseState()
  return { code: todo === 'publish' ? 0 : 1, output: why }
}
