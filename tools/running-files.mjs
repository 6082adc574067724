// A reporter of jest for runs that are ended from outside: it says what has failed so far, and which files still run.
import { writeSync } from 'node:fs'
import { relative } from 'node:path'
import { failuresOf } from './failures.mjs'

export default class RunningFiles {
  #begunMs = new Map()
  #failures = []

  constructor() {
    // Before the listener of the workspace's programs, which exits.
    process.prependOnceListener('SIGTERM', () => {
      const running = [...this.#begunMs].map(([path, begunMs]) => {
        const seconds = Math.round((Date.now() - begunMs) / 1000)
        return `${relative('packages', path)}: still ran after ${seconds} s`
      })
      // Jest holds back what is written to process.stdout.
      for (const name of [...this.#failures, ...running]) writeSync(1, `failed: ${name}\n`)
      process.exit(143)
    })
  }

  onTestFileStart({ path }) {
    this.#begunMs.set(path, Date.now())
  }

  onTestFileResult({ path }, { testResults, failureMessage, testExecError }) {
    this.#begunMs.delete(path)
    if (!failureMessage && !testExecError) return
    const message = failureMessage ?? testExecError.message
    this.#failures.push(...failuresOf({ name: path, message, assertionResults: testResults }))
  }
}
