// npm run in-flight: sets everything up and lets processes share the slots of subjects. Arguments go to the program.
import { runProgram, withTypeScript } from './workspace.mjs'

await runProgram('packages/faults/src/in-flight/main.ts', withTypeScript)
