import { createHash } from 'node:crypto'

/** The longest name of a group, in characters. */
const LONGEST = 32
const HASH = 10
/** Of such paths no two have the same name. */
const PLAIN = /^(?:\/:?[\w-]+)*$/

/**
 * The name of the group that counts one route: `GET.reports..id`. Where it would be too long, or two routes could have it,
 * it ends with a hash.
 *
 * @param methods the methods of the route; HEAD counts as GET
 * @param pattern its path with any prefix, such as `/reports/:id`; a slash at the end makes no difference
 * @param more    what else tells it from other routes, such as its host
 */
export function groupOfRoute(methods: string | readonly string[], pattern: string, more = ''): string {
  const all = [methods].flat().map((method) => (method === 'HEAD' ? 'GET' : method))
  // One of them is enough, since no other route has it on this path. So a HEAD route that the framework adds is the same.
  const [method = ''] = all.includes('GET') ? ['GET'] : all.toSorted()
  const path = pattern.replace(/\/+$/, '')
  const name = method + path.replace(/[^\w-]/g, '.')
  if (more === '' && PLAIN.test(path) && name.length <= LONGEST) return name
  const hash = createHash('sha256')
    .update(JSON.stringify([method, path, more]))
    .digest('base64url')
  return `${name.slice(0, LONGEST - HASH - 1)}-${hash.slice(0, HASH)}`
}
