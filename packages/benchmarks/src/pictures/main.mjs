// npm run pictures: draws docs/pictures. --check only says which committed picture is another one.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { differences, writeFiles } from '../report/files.mjs'
import { housePicture } from './house.mjs'
import { leasesPicture } from './leases.mjs'
import { runLimits } from './limits-run.mjs'
import { limitsPicture } from './limits.mjs'
import { runPlans } from './plans-run.mjs'
import { plansPicture } from './plans.mjs'
import { redisDiesPicture } from './redis-dies.mjs'
import { runSeam } from './seam-run.mjs'
import { seamPicture } from './seam.mjs'

const architecture = fileURLToPath(new URL('../../../../ARCHITECTURE.md', import.meta.url))

const pictures = {
  seam: seamPicture(await runSeam()),
  plans: plansPicture(await runPlans()),
  limits: limitsPicture(await runLimits()),
  'redis-dies': redisDiesPicture(),
  leases: leasesPicture(),
  house: housePicture(readFileSync(architecture, 'utf8')),
}
const files = Object.fromEntries(
  Object.entries(pictures).map(([name, svg]) => [`docs/pictures/${name}.svg`, svg]),
)

if (process.argv.includes('--check')) {
  const different = differences(files)
  for (const path of different) process.stderr.write(`${path} is not what npm run pictures draws\n`)
  process.exitCode = different.length > 0 ? 1 : 0
} else for (const path of writeFiles(files)) process.stderr.write(`wrote ${path}\n`)
