// npm run leases: sets everything up and lets processes share a tenant by leases. Arguments go to the program.
import { runProgram, withTypeScript } from './workspace.mjs'

await runProgram('packages/faults/src/leases/main.ts', withTypeScript)
