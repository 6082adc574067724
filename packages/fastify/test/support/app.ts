import Fastify, { type FastifyInstance } from 'fastify'
import type { RateLimitPluginOptions } from '../../src/index.js'

export interface Asked {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'OPTIONS'
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface Answered {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** Sends requests to the application of the test, which listens from the first request on. */
export interface AppClient {
  get(path: string, asked?: Asked): Promise<Answered>
  statuses(count: number, path: string, asked?: Asked): Promise<number[]>
  /** The header RateLimit-Remaining. */
  remaining(path: string, asked?: Asked): Promise<string | undefined>
}

/** Makes an application for each test of the file, and closes it afterwards. */
export function useApp(give: (app: FastifyInstance) => void): AppClient {
  let app: FastifyInstance
  beforeEach(() => {
    app = Fastify({ forceCloseConnections: true })
    give(app)
  })
  afterEach(() => app.close())

  const get: AppClient['get'] = async (path, asked = {}) => {
    if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
    const response = await fetch(`${app.listeningOrigin}${path}`, asked)
    const { status, headers } = response
    return { status, headers: Object.fromEntries(headers), body: await response.text() }
  }
  return {
    get,
    statuses: async (count, path, asked) => {
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await get(path, asked)).status)
      return answers
    },
    remaining: async (path, asked) => (await get(path, asked)).headers['ratelimit-remaining'],
  }
}

export const ok = (): string => 'ok'

export const byKey: NonNullable<RateLimitPluginOptions['identify']> = (request) =>
  String(request.headers['x-api-key'])
