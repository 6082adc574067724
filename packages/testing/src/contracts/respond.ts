/** What the responses of some framework have to answer with. */
interface AnyResponse {
  status?: number | ((status: number) => void)
  code?: (status: number) => void
  send?: (body: string) => void
  body?: string
  redirect: (url: string) => void
}

/**
 * Answers as users of the framework do.
 *
 * @param status left out: the one that the response has
 */
export function respond(res: unknown, body: string, status?: number): void {
  const response = res as AnyResponse
  if (status !== undefined) {
    if (response.code) response.code(status)
    else if (typeof response.status === 'function') response.status(status)
    else response.status = status
  }
  if (response.send) response.send(body)
  else response.body = body
}

/** Redirects as users of the framework do. */
export function redirect(res: unknown, url: string): void {
  const response = res as AnyResponse
  response.redirect(url)
}
