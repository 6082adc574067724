import { spawn } from 'node:child_process'

/**
 * Kills the process `pid` once this process is gone, for whatever reason.
 *
 * An exit hook is not enough: jest gives tests a copy of `process` whose hooks never run, and after SIGKILL none runs.
 *
 * @returns a function to call when the process has ended by itself
 */
export function tieLifeOf(pid: number): () => void {
  // The pipe closes with this process. In a group of its own, the shell survives Ctrl-C until it has done its work.
  const line = spawn('sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  line.unref()
  ;(line.stdin as unknown as { unref(): void }).unref()
  return () => void line.kill('SIGKILL')
}
