// npm run site: sets everything up and builds the docs site into packages/site/dist. With --serve it also shows the site.
import { runProgram } from './workspace.mjs'

await runProgram('packages/site/src/main.mjs')
