import type { ChangeAnswer, ChangeBody, ProblemAnswer } from '../src/answers.ts'

const HEADERS = { 'X-Tollgate': '1' }

/** Where a route is: below the page, whose own address may have no slash at its end. */
export function addressOf(route: string): string {
  return location.pathname.replace(/\/?$/, '/') + route
}

/** What the server said no to, as a sentence. */
export class Problem extends Error {
  readonly status: number

  constructor(detail: string, status: number) {
    super(detail)
    this.status = status
  }
}

async function answerOf<T>(path: string, options: RequestInit): Promise<T> {
  const response = await fetch(addressOf(path), options).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Problem('The server does not answer.', 0)
  })
  if (response.ok) return (await response.json()) as T
  const problem = (await response.json().catch(() => ({}))) as Partial<ProblemAnswer>
  const fallback = `The server answered ${response.status}.`
  throw new Problem(problem.detail ?? problem.title ?? fallback, response.status)
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answerOf<T>(path, { headers: HEADERS, ...(signal && { signal }) })
}

export function change(body: ChangeBody): Promise<ChangeAnswer> {
  return answerOf<ChangeAnswer>('api/changes', {
    method: 'POST',
    headers: { ...HEADERS, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}
