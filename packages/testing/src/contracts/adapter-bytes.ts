import { get, type IncomingMessage } from 'node:http'
import type { Store } from '@tollgate/core'
import type { Serve } from './adapter-contract.ts'

const TYPE = 'https://iana.org/assignments/http-problem-types#'

/** Answers of a store, and the exact bytes that Tollgate adds to the response for each. */
const RECORDED: [what: string, wait: number | Error, answer: string][] = [
  [
    'an allowed request',
    0,
    `200 OK
ratelimit-policy: "minute";q=100;w=60
ratelimit: "minute";r=7;t=13
ratelimit-limit: 100
ratelimit-remaining: 7
ratelimit-reset: 13`,
  ],
  [
    'a denied one',
    12_345_678,
    `429 Too Many Requests
ratelimit-policy: "minute";q=100;w=60
ratelimit: "minute";r=7;t=13
ratelimit-limit: 100
ratelimit-remaining: 7
ratelimit-reset: 13
cache-control: no-store
retry-after: 13
content-type: application/problem+json

{"type":"${TYPE}quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Only 100 requests a minute are allowed; try again in 13 seconds.","violated-policies":["minute"],"code":"rate_limit_exceeded"}`,
  ],
  [
    'a cost that can never fit',
    -1,
    `429 Too Many Requests
ratelimit-policy: "minute";q=100;w=60
ratelimit: "minute";r=7;t=13
ratelimit-limit: 100
ratelimit-remaining: 7
ratelimit-reset: 13
cache-control: no-store
content-type: application/problem+json

{"type":"${TYPE}quota-exceeded","title":"Quota Exceeded","status":429,"detail":"This request takes 1 unit, but only 100 units a minute are allowed. Waiting does not help: make it smaller, or ask for a higher limit.","violated-policies":["minute"],"code":"cost_exceeds_quota"}`,
  ],
  [
    'a store that failed',
    new Error('down'),
    `503 Service Unavailable
cache-control: no-store
retry-after: 1
content-type: application/problem+json

{"type":"${TYPE}temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"The service cannot check rate limits at the moment. Try again shortly.","code":"rate_limit_unavailable"}`,
  ],
]

/** Headers that Node or the framework adds to every response. */
const NOT_OURS = ['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']

/**
 * The bytes that every adapter must send: for the same answer of the store, clients of all frameworks get the same
 * status, Tollgate headers and body.
 */
export function bytesContract(name: string, serve: Serve): void {
  test.each(RECORDED)(`${name}: the bytes of %s`, async (_, wait, answer) => {
    const served = await serve({
      options: { limit: '100/min', store: storeThatSays(wait), onStoreFailure: 'closed' },
    })
    try {
      expect(await rawAnswer(served.url)).toBe(answer)
    } finally {
      await served.close()
    }
  })
}

function storeThatSays(wait: number | Error): Store {
  const answer: Store['consume'] = (batch) =>
    batch.map(() => {
      if (wait instanceof Error) throw wait
      return { at: 1, limits: [{ wait, remaining: 7, reset: 12_345_678 }] }
    })
  const refund: Store['refund'] = (batch) => batch.map(() => false)
  return { synchronous: true, consume: answer, peek: answer, refund, reset: () => false }
}

/** Status, headers with names in lower case, and values as sent; the body, too, unless the application made it. */
async function rawAnswer(url: string): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false }, resolve).on('error', reject)
  })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const isOurs = response.statusCode !== 200
  const lines = [`${response.statusCode} ${response.statusMessage}`]
  const { rawHeaders } = response
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string
    if (NOT_OURS.includes(header.toLowerCase())) continue
    if (isOurs || /^ratelimit/i.test(header)) lines.push(`${header.toLowerCase()}: ${rawHeaders[i + 1]}`)
  }
  return isOurs ? `${lines.join('\n')}\n\n${Buffer.concat(chunks).toString('latin1')}` : lines.join('\n')
}
