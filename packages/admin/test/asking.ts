// A limiter with its dashboard, whose answers are as the published schema has them.
import { createLimiter, type Limiter, type LimiterOptions } from '@tollgate/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangeBody } from '../src/answers.js'
import { dashboard } from '../src/fetch.js'

/** What a test has opened, and closes at its end. */
export const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

export const PLANS: LimiterOptions = {
  plans: {
    free: { limits: '5/h', blockAfter: { denials: 3, within: '1min', for: ['1h'] } },
    pro: ['100/min', { quota: 1000, window: 'month' }, '20 concurrent'],
    paid: { limits: { quota: 10, window: 'day', algorithm: 'fixed-window', overage: true } },
    none: 'blocked',
  },
  defaultPlan: 'free',
}

const schema = JSON.parse(
  readFileSync(join(__dirname, '../../../docs/reference/dashboard.schema.json'), 'utf8'),
) as object
const ajv = new Ajv2020({ strict: true, validateFormats: false, allowUnionTypes: true }).addSchema(
  schema,
  'all',
)

/** Whether an answer is as the published schema has it. */
function checkSchema(route: string, body: unknown): void {
  const valid = ajv.getSchema(`all#/$defs/${route}`)
  if (!valid) throw new Error(`The schema has no ${route}`)
  if (!valid(body)) throw new Error(`${route} is not as in its schema: ${ajv.errorsText(valid.errors)}`)
}

export interface Asking {
  readonly limiter: Limiter
  get<T>(path: string): Promise<T>
  change(body: ChangeBody): Promise<{ readonly done: boolean; readonly says: string }>
}

export function asking(options: LimiterOptions): Asking {
  const limiter = createLimiter({ warnings: false, ...options })
  open.push(() => limiter.close())
  const answer = dashboard(limiter, { authorize: () => ({ by: 'ada' }) })
  const read = async <T>(request: Request): Promise<T> => {
    const response = await answer(request)
    const body = (await response.json()) as T
    const route = /api\/(\w+)/.exec(request.url)?.[1] ?? ''
    checkSchema(response.ok ? route.replace('changes', 'change') : 'problem', body)
    if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(body)}`)
    return body
  }
  const headers = { 'x-tollgate': '1', 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  return {
    limiter,
    get: (path) => read(new Request(`http://admin.test/api/${path}`)),
    change(body) {
      checkSchema('changeBody', body)
      return read(
        new Request('http://admin.test/api/changes', { method: 'POST', headers, body: JSON.stringify(body) }),
      )
    },
  }
}
