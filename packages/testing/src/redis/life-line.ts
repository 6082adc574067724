import { spawn } from 'node:child_process'

/**
 * Kills the process `pid` once this process is gone, however it went.
 *
 * An exit hook is not enough: jest gives tests a copy of `process` whose hooks never run, and SIGKILL runs none.
 *
 * @returns cuts the line, for a process that has ended by itself
 */
export function tieLifeOf(pid: number): () => void {
  // The pipe closes with this process. A group of its own keeps Ctrl-C from ending the line before its work.
  const line = spawn('sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  line.unref()
  ;(line.stdin as unknown as { unref(): void }).unref()
  return () => void line.kill('SIGKILL')
}
