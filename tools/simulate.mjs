// npm run simulate: sets everything up and simulates a fleet with leases. Arguments go to the program.
import { runProgram } from './workspace.mjs'

await runProgram('packages/benchmarks/src/simulation/main.mjs')
