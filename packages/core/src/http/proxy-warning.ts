import type { Warn } from '../base/warnings.js'
import type { HttpAdapter } from './adapter.js'

/** Frameworks whose users were told of a proxy: they set its trust once, however many limiters they have. */
const told = new Set<string>()

/** Warns once a process of a proxy in front that is not trusted: it makes all its clients one. */
export function warnOfProxy<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { header, trustsProxy, framework, trustSetting } = adapter
  if (told.has(framework) || !(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
  if (trustsProxy(req)) return
  told.add(framework)
  warn(
    'TOLLGATE_PROXY',
    `A request came with a forwarded header, but ${framework} trusts no proxy at its address, so all clients behind one ` +
      `count as one address. If there is a proxy, set ${trustSetting}; if not, a client made the header up.`,
  )
}
