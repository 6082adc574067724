import { PAGE, SCRIPT_HASHES, STYLE_HASHES } from './page.generated.js'

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
