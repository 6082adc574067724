import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LimiterStats } from '@tollgate/core'
import type { Call } from './nest-process.ts'
import type { App, Spec } from './opened.ts'

interface Reply {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** A process that serves applications of NestJS. */
export interface NestProcess {
  open(spec: Spec): Promise<App>
  end(): Promise<void>
}

export function startNest(): NestProcess {
  const hooks = join(__dirname, 'sources.mjs')
  const execArgv = ['--conditions=@tollgate/source', '--import', pathToFileURL(hooks).href]
  const child = fork(join(__dirname, 'nest-process.ts'), {
    execArgv,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const call = callsOf(child)
  let apps = 0
  return {
    open: async (spec) => {
      const app = (apps += 1)
      const url = (await call({ method: 'open', app, given: spec })) as string
      return {
        url,
        passTime: (ms) => call({ method: 'passTime', app, given: ms }),
        stats: async () => (await call({ method: 'stats', app })) as LimiterStats,
        close: () => call({ method: 'close', app }),
      }
    },
    end: async () => {
      if (child.exitCode !== null) return
      child.kill()
      await once(child, 'exit')
    },
  }
}

function callsOf(child: ChildProcess): (call: Omit<Call, 'id'>) => Promise<unknown> {
  const waiting = new Map<number, (reply: Reply) => void>()
  let calls = 0
  child.on('message', (reply: Reply) => waiting.get(reply.id)?.(reply))
  child.once('exit', () => waiting.forEach((settle, id) => settle({ id, error: 'the process has ended' })))
  return async (call) => {
    if (!child.connected) throw new Error('the process has ended')
    const id = (calls += 1)
    const reply = new Promise<Reply>((settle) => waiting.set(id, settle))
    child.send({ ...call, id })
    const { value, error } = await reply
    if (error !== undefined) throw new Error(error)
    return value
  }
}
