// npm run screenshots: sets everything up and takes the screenshots of the docs, of the real dashboard in a real Chromium.
import { runProgram, withTypeScript } from './workspace.mjs'

await runProgram('packages/admin/scripts/screenshots.mjs', withTypeScript)
