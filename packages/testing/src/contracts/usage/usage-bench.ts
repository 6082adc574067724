import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type RateLimitOptions,
  type Subject,
  type UsageReport,
  type UsageRouteOptions,
} from '@tollgate/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Served } from '../../served.ts'
import type { AnyRequest } from '../adapter-contract.ts'

/** An application whose route `/usage` shows usage. */
export interface ServedUsage {
  /** The middleware of all routes but this one. Default: none. */
  readonly limit?: RateLimitOptions<AnyRequest, never>
  /** Default: what the middleware knows. */
  readonly usage?: UsageRouteOptions<AnyRequest, never>
}

/** Makes a framework's handler for usage of any source. */
export type MakeUsage = (source: never) => unknown

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../../docs/reference/usage.schema.json'), 'utf8'),
) as object
const isReport = new Ajv2020({ strict: true, validateFormats: false }).compile(schema)

export const identify = ({ headers }: AnyRequest): Subject | undefined => {
  const id = headers['x-user']
  return id === undefined ? undefined : { id: String(id), plan: String(headers['x-plan'] ?? 'free') }
}
export const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
export const PRIVATE = 'private, no-store'

const plans = {
  free: ['100/min', '1000/month'],
  over: { limits: { quota: 3, window: 'month', overage: true } },
  busy: ['10/min', '5 concurrent'],
  staff: 'unlimited',
  banned: 'blocked',
  '<i>&"': { limits: { quota: 5, window: 'min', name: '<script>alert(1)</script>' } },
} as const

/** As a user's `identify`, with less of its types. */
export type Who = UsageRouteOptions<AnyRequest, never>['identify']

/** What a contract of usage needs to serve applications and to ask them. All ends with its test. Call it in a `describe`. */
export function usageBench(serve: (app: ServedUsage) => Promise<Served>) {
  const served: Served[] = []
  const limiters: Limiter[] = []
  afterEach(async () => {
    for (const app of served.splice(0)) await app.close()
    for (const limiter of limiters.splice(0)) await limiter.close()
  })

  const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter => {
    const limiter = createLimiter({
      plans,
      defaultPlan: 'free',
      warnings: false,
      ...options,
    } as LimiterOptions)
    limiters.push(limiter)
    return limiter
  }
  const start = async (app: ServedUsage): Promise<string> => {
    const one = await serve(app)
    served.push(one)
    return one.url
  }
  const begin = async (limiter: Limiter = limiterOf()): Promise<string> =>
    start({ limit: { limiter, identify } as RateLimitOptions<AnyRequest, never> })
  const ask = async (url: string, user?: string, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}usage`, { headers: { ...(user !== undefined && { 'x-user': user }), ...more } })
  const reportFor = async (...given: Parameters<typeof ask>): Promise<UsageReport> => {
    const answer = await ask(...given)
    const said = (await answer.json()) as UsageReport
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect([isReport(said), isReport.errors]).toEqual([true, null])
    return said
  }
  return { limiterOf, start, begin, ask, reportFor }
}
