import { PAGE, SCRIPT_HASHES, STYLE_HASHES } from './page.generated.cjs'
import type { ProblemAnswer } from './answers.js'

/** What every response says: it is for one operator, and no other page may hold it. */
const ALWAYS = {
  'Cache-Control': 'no-store, no-transform',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

/** Adds what every response says, unless it says something else. */
export function secured(response: Response): Response {
  for (const [name, value] of Object.entries(ALWAYS))
    if (!response.headers.has(name)) response.headers.set(name, value)
  return response
}

/** Only what is in the page itself may run, and it may ask nobody else. */
const POLICY = [
  "default-src 'none'",
  `script-src ${quoted(SCRIPT_HASHES)}`,
  `style-src ${quoted(STYLE_HASHES)}`,
  "connect-src 'self'",
  'img-src data:',
  'font-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function quoted(hashes: readonly string[]): string {
  return hashes.map((hash) => `'${hash}'`).join(' ')
}

export function pageResponse(): Response {
  return new Response(PAGE, {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY },
  })
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** For what lists show instead of an id: nothing would be found under it, and a rule for it would hold for nobody. */
export function hiddenId(): Response {
  return problem(
    400,
    'id: this is how lists show an id that is hashed, or that is long or has odd characters. Search for the id itself.',
  )
}

/** An error as problem details (RFC 9457). */
export function problem(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body: ProblemAnswer = { type: 'about:blank', title: TITLES[status] ?? '', status, detail }
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json' },
  })
}

export function wrongMethod(allow: string, detail = 'There is no such method here.'): Response {
  return problem(405, detail, { Allow: allow })
}

export function redirect(to: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 302, headers: { ...headers, Location: to } })
}
