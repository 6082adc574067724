// npm run pictures: sets everything up and draws the pictures of the docs. --check only says which are out of date.
import { runProgram } from './workspace.mjs'

await runProgram('packages/benchmarks/src/pictures/main.mjs')
