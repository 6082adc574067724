import type { HttpAdapter } from './adapter.js'

/** Frameworks whose users were told of a proxy: they set its trust once, however many limiters they have. */
const told = new Set<string>()

/** Once a process: a proxy in front that is not trusted makes all its clients one. */
export function warnOfProxy<Req extends object, Res>(adapter: HttpAdapter<Req, Res>, req: Req): void {
  const { header, trustsProxy, framework, trustSetting } = adapter
  if (told.has(framework) || !(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
  if (trustsProxy(req)) return
  told.add(framework)
  process.emitWarning(
    `A request came with a forwarded header, but ${framework} trusts no proxy, so all clients behind one count ` +
      `as one address. If there is a proxy, set ${trustSetting}; if not, a client made the header up.`,
    'TollgateWarning',
  )
}
