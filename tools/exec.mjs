// Runs a tool of the workspace, such as turbo. Turbo calls pnpm, which this machine need not have installed.
import { exec, install, step } from './workspace.mjs'

process.exit((await step('install', install)) || (await exec(process.argv.slice(2))).code)
