// npm run faults: sets everything up and runs applications through every fault of Redis. Arguments go to the program.
import { runProgram, withTypeScript } from './workspace.mjs'

await runProgram('packages/faults/src/main.ts', withTypeScript)
