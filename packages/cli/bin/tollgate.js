#!/usr/bin/env node
import { run } from '@tollgate/cli'

const { argv, env, stdin, stdout, stderr } = process

// Warnings of Node and of libraries would stand between the lines of an answer. What they say of Redis, `doctor` says.
process.removeAllListeners('warning')
process.on('warning', () => {})

// Who reads the first lines alone, as head does, has all that it wants.
stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1))

// What a plans file has begun can fail later.
process.on('uncaughtException', (error) => {
  const text = String(error?.message ?? error).replace(/[^\x20-\x7e]+/g, ' ')
  stderr.write(
    `Something failed that is no part of the command, such as in the plans file: ${text.slice(0, 400)}\n`,
  )
  process.exit(1)
})

const onInterrupt = (stop) => {
  process.once('SIGINT', stop)
  return () => process.off('SIGINT', stop)
}
// Core's timers keep no process alive. Without a connection, nothing would wait for what they say.
setInterval(() => {}, 60_000)
const code = await run(argv.slice(2), { env, cwd: process.cwd(), stdin, stdout, stderr, onInterrupt })
// A plans file can hold connections of the application open, so the process does not end by itself.
stdout.write('', () => stderr.write('', () => process.exit(code)))
