#!/usr/bin/env node
import { run } from '@tollgate/cli'

const { argv, env, stdin, stdout, stderr } = process

// Warnings of Node and of libraries would stand between the lines of an answer. What they say of Redis, `doctor` says.
process.removeAllListeners('warning')
process.on('warning', () => {})

const onInterrupt = (stop) => {
  process.once('SIGINT', stop)
  return () => process.off('SIGINT', stop)
}
const code = await run(argv.slice(2), { env, cwd: process.cwd(), stdin, stdout, stderr, onInterrupt })
// A plans file can hold connections of the application open, so the process does not end by itself.
stdout.write('', () => stderr.write('', () => process.exit(code)))
