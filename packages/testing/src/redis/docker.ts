import { spawnSync } from 'node:child_process'

export interface RedisContainer {
  readonly url: string
  stop(): void
}

const DOCKER_ANSWERS_WITHIN_MS = 5000

/** Starts Redis in a container on a free port of 127.0.0.1. Returns undefined without a Docker engine. */
export function startRedisContainer(): RedisContainer | undefined {
  if (docker(['info']).status !== 0) return undefined
  const started = docker(['run', '--detach', '--rm', '--publish', '127.0.0.1::6379', 'redis:7'], 120_000)
  const id = started.stdout.trim()
  if (started.status !== 0 || id === '') return undefined
  const address = docker(['port', id, '6379/tcp']).stdout.trim().split('\n')[0] ?? ''
  return { url: `redis://${address}`, stop: () => void docker(['stop', id], 30_000) }
}

function docker(
  args: string[],
  timeout = DOCKER_ANSWERS_WITHIN_MS,
): { status: number | null; stdout: string } {
  return spawnSync('docker', args, { timeout, encoding: 'utf8' })
}
