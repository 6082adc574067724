import { spawn } from 'node:child_process'

/**
 * Kills the process `pid` when this process ends, for whatever reason.
 *
 * An exit hook is not enough: jest gives tests a copy of `process` whose hooks never run, and SIGKILL runs no hooks.
 *
 * @returns a function that ends the watch, to be called when the process has ended by itself
 */
export function tieLifeOf(pid: number): () => void {
  // `cat` ends when the pipe closes, which is when this process ends. `detached` protects the shell from Ctrl-C.
  const line = spawn('sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  line.unref()
  ;(line.stdin as unknown as { unref(): void }).unref()
  return () => void line.kill('SIGKILL')
}
