import { problem } from '../responses.js'

/** Only scripts of the page send it. A form cannot, and a script of another origin would have to ask first. */
const OWN_HEADER = 'x-tollgate'

/**
 * The refusal of a change that a page of another site sent. Browsers say where a request comes from, and a page cannot change that.
 *
 * @param origins where browsers see the dashboard; empty if that is not known
 * @returns undefined if the page is the dashboard's own
 */
export function crossSiteProblem({ headers }: Request, origins: readonly string[]): Response | undefined {
  if (headers.get(OWN_HEADER) === null) return foreign('The header X-Tollgate is missing.')
  const [site, origin] = [headers.get('sec-fetch-site'), headers.get('origin')]
  if (origins.length > 0 && origin !== null)
    return origins.includes(origin) ? undefined : foreign('Its origin is not one of the option `origin`.')
  if (site !== null) return site === 'same-origin' ? undefined : foreign('It is of another site.')
  if (origin !== null && origin !== 'null' && hostOf(origin) === headers.get('host')) return undefined
  return foreign('It does not say that it is of the same origin. Behind a proxy, set the option `origin`.')
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

function foreign(why: string): Response {
  return problem(403, `Changes are taken from the dashboard's own page alone. ${why}`)
}
