import { Agent, request, type IncomingMessage } from 'node:http'
import { CONTROLS, type Pace } from './settings.ts'

/** A request, as its client saw it. */
export interface Answer {
  readonly who: string
  readonly sentAt: number
  readonly ms: number
  /** 0 without an answer. */
  readonly status: number
  /** What decided, as the application reported it. */
  readonly source?: string
  readonly error?: string
}

export interface Load {
  /** The answers so far. */
  readonly answers: readonly Answer[]
  /** Sends no more. Resolves to all answers, once the last one has come or is given up. */
  stop(): Promise<Answer[]>
}

const TICK_MS = 4
/** After this time, in ms, a request counts as unanswered. */
const GIVES_UP_AFTER_MS = 5000
/** One connection per pending request. With more of them the load generator itself would be the bottleneck. */
const MOST_CONNECTIONS = 1000

/** As the applications' own: ms by a clock that all processes of the machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

/**
 * Sends requests of all tenants at steady rates, whether earlier ones were answered or not. So when an application
 * stalls, all requests that come meanwhile are seen to wait.
 */
export function startLoad(port: number, { rates, mostUnderWay }: Pick<Pace, 'rates' | 'mostUnderWay'>): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: MOST_CONNECTIONS, scheduling: 'lifo' })
  const answers: Answer[] = []
  const underWay = new Set<Promise<void>>()
  const flows = Object.entries(rates).map(([who, rate]) => {
    return { who, path: CONTROLS.includes(who) ? `/${who}` : '/', rate, sent: 0 }
  })
  const started = performance.now()
  const send = (who: string, path: string): void => {
    const sent = ask(agent, port, { who, path }).then((answer) => {
      answers.push(answer)
      underWay.delete(sent)
    })
    underWay.add(sent)
  }
  const timer = setInterval(() => {
    const seconds = (performance.now() - started) / 1000
    for (const flow of flows) {
      for (; flow.sent < seconds * flow.rate; flow.sent += 1) {
        if (underWay.size < mostUnderWay) send(flow.who, flow.path)
      }
    }
  }, TICK_MS)
  return {
    answers,
    stop: async () => {
      clearInterval(timer)
      await Promise.all(underWay)
      agent.destroy()
      return answers
    },
  }
}

function ask(agent: Agent, port: number, { who, path }: { who: string; path: string }): Promise<Answer> {
  const sentAt = now()
  return new Promise((resolve) => {
    const settle = (status: number, more: Pick<Answer, 'error' | 'source'> = {}): void =>
      resolve({ who, sentAt, ms: now() - sentAt, status, ...more })
    const sent = request({ agent, host: '127.0.0.1', port, path, headers: { 'x-tenant': who } })
    sent.setTimeout(GIVES_UP_AFTER_MS, () => sent.destroy(new Error('no answer')))
    sent.once('error', (error) => settle(0, { error: error.message }))
    sent.once('response', (response) => {
      response.resume()
      response.once('end', () => settle(response.statusCode ?? 0, sourceOf(response)))
      response.once('error', (error) => settle(0, { error: error.message }))
    })
    sent.end()
  })
}

function sourceOf({ headers }: IncomingMessage): Pick<Answer, 'source'> {
  const source = headers['x-source']
  return typeof source === 'string' ? { source } : {}
}
