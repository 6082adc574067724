// Clients that do not know Tollgate. Each waits as long as a 429 says, and succeeds at its first retry.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { serveHandler, type Served } from '@tollgate/testing'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import express from 'express'
import { Agent, interceptors, request } from 'undici'
import { rateLimit, subjectForIp, type Decision, type LimitInput } from '../src/index.js'

interface Arrival {
  readonly at: number
  readonly status: number
  readonly retryAfter: number
}

let served: Served
let arrivals: Arrival[]

async function serve(limit: LimitInput): Promise<string> {
  arrivals = []
  const app = express()
  app.use((_req, res, next) => {
    const at = performance.now()
    res.on('finish', () => {
      arrivals.push({ at, status: res.statusCode, retryAfter: Number(res.get('Retry-After') ?? 0) })
    })
    next()
  })
  const limited = rateLimit({ limit })
  // The client's first request must find nothing left. Done earlier, the window could end before a slow client starts.
  app.use((req, _res, next) => {
    if (arrivals.length === 0) while ((limited.limiter.consume(subjectForIp(req.ip)) as Decision).allowed);
    next()
  })
  app.use(limited)
  app.get('/', (_req, res) => void res.send('ok'))
  served = await serveHandler(app)
  return served.url
}

afterEach(() => served.close())

/** got is an ES module, which jest does not load. */
const GOT = `
import got from 'got'
const response = await got(process.argv[1], { retry: { limit: 2 } })
console.log(JSON.stringify([response.statusCode, response.body]))
`

const clients: [name: string, get: (url: string) => Promise<[status: number, body: string]>][] = [
  [
    'got',
    async (url) => {
      const args = ['--input-type=module', '-e', GOT, url]
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: __dirname })
      return JSON.parse(stdout)
    },
  ],
  [
    "undici's retry interceptor",
    async (url) => {
      const dispatcher = new Agent().compose(interceptors.retry({ maxRetries: 2 }))
      const { statusCode, body } = await request(url, { dispatcher })
      const text = await body.text()
      await dispatcher.close()
      return [statusCode, text]
    },
  ],
  [
    'axios-retry',
    async (url) => {
      const client = axios.create()
      axiosRetry(client, {
        retries: 2,
        retryCondition: ({ response }) => response?.status === 429,
        retryDelay: (count, error) => axiosRetry.exponentialDelay(count, error, 1),
      })
      const { status, data } = await client.get<string>(url)
      return [status, data]
    },
  ],
]

describe.each<[string, LimitInput]>([
  ['1 a second', '1/s'],
  ['2 in 1500 ms', '2/1500ms'],
  ['a bucket of 1', '1/s burst 1'],
  ['a fixed window', { quota: 1, window: 's', algorithm: 'fixed-window' }],
])('a limit of %s', (_, limit) => {
  test.each(clients)(
    '%s waits as long as the response says, and succeeds at the first retry',
    async (_name, get) => {
      const url = await serve(limit)
      expect(await get(url)).toEqual([200, 'ok'])
      expect(arrivals.map(({ status }) => status)).toEqual([429, 200])
      const [denied, allowed] = arrivals as [Arrival, Arrival]
      expect(denied.retryAfter).toBeGreaterThanOrEqual(1)
      expect(allowed.at - denied.at).toBeGreaterThanOrEqual(denied.retryAfter * 1000 - 50)
    },
  )
})
