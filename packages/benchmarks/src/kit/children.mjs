// Processes of a section that talk by messages.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { pinTo } from './cores.mjs'

const running = new Set()
process.once('exit', () => {
  for (const child of running) child.kill()
})

/**
 * Starts a module of `src` as a process, which ends when this one does.
 *
 * @param {string[]} args
 * @param {{ core?: number, execArgv?: string[], env?: Record<string, string> }} [settings] the CPU core it may use
 */
export function startChild(module, args, { core, execArgv, env } = {}) {
  const path = fileURLToPath(new URL(`../${module}`, import.meta.url))
  const child = fork(path, args, {
    ...{ execArgv: execArgv ?? process.execArgv, env: { ...process.env, ...env } },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  if (core !== undefined) pinTo(child.pid, core)
  return {
    /** Sends a message and resolves to the answer. Without one, waits for what the child says by itself. */
    ask: async (message) => {
      const answer = once(child, 'message')
      const end = once(child, 'exit').then(([code]) => {
        throw new Error(`${module} ended with ${code}`)
      })
      if (message !== undefined) child.send(message)
      const [result] = await Promise.race([answer, end])
      if (result.error) throw new Error(`${module}: ${result.error}`)
      return result
    },
    stop: () => child.kill(),
  }
}

/**
 * In such a process: answers each message with what `work` makes of it, or with its error. Ends with the section.
 *
 * @param {object} [ready] what it says by itself, now
 */
export function answerMessages(work, ready) {
  process.on('message', async (message) => {
    try {
      process.send(await work(message))
    } catch (error) {
      process.send({ error: error.message })
    }
  })
  process.on('disconnect', () => process.exit(0))
  if (ready !== undefined) process.send(ready)
}
