import { Agent, request, type IncomingMessage } from 'node:http'
import { CONTROLS, type Pace } from './settings.ts'

/** A request as its client saw it. */
export interface Answer {
  readonly who: string
  readonly sentAt: number
  readonly ms: number
  /** 0 when there was no answer. */
  readonly status: number
  /** Source of the decision, from the response header `x-source`. */
  readonly source?: string
  readonly error?: string
}

export interface Load {
  /** All answers so far. */
  readonly answers: readonly Answer[]
  /** Sends no more, and resolves with all answers once each request is answered or given up. */
  stop(): Promise<Answer[]>
}

const TICK_MS = 4
/** After this a request counts as unanswered. */
const GIVES_UP_AFTER_MS = 5000
/** Most connections at a time. Above this the load generator itself would be the bottleneck. */
const MOST_CONNECTIONS = 1000

export const now = (): number => performance.timeOrigin + performance.now()

/**
 * Sends steady traffic of all tenants at their rates. A request is sent when it is due, even if earlier ones are not
 * answered yet. So a stall of the application shows in every request that comes during the stall.
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
