// npm run bench: sets everything up and runs the benchmarks. Arguments go to them.
import { runProgram, withTypeScript } from './workspace.mjs'

// The cluster is started by a module of the tests, which is TypeScript.
await runProgram('packages/benchmarks/src/main.mjs', withTypeScript)
