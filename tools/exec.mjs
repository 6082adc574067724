// Runs a tool of the workspace, such as turbo, which needs a pnpm that is not installed.
import { exec, install, step } from './workspace.mjs'

process.exit((await step('install', install)) || (await exec(process.argv.slice(2))).code)
