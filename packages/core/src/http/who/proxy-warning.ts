import { isSilent, type Warn } from '../../base/warnings.js'
import type { HttpAdapter } from '../adapter.js'

/** The frameworks that were warned about. Kept per process, since all limiters depend on the same setting. */
const toldOfProxy = new Set<string>()
const toldOfTrust = new Set<string>()

/**
 * Warns once per process of each of two wrong settings. If the framework does not trust the proxy in front, all clients
 * behind it count as one. If it trusts every proxy, clients can choose their address, and are never limited.
 */
export function warnOfProxy<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { header, trustsProxy, framework } = adapter
  if (isSilent(warn)) return
  if (toldOfProxy.has(framework) && toldOfTrust.has(framework)) return
  if (!(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
  if (trustsProxy(req)) warnOfTrust(adapter, req, warn)
  else warnOfNoTrust(adapter, warn)
}

function warnOfNoTrust({ framework, trustSetting }: HttpAdapter<never, never>, warn: Warn): void {
  if (toldOfProxy.has(framework)) return
  toldOfProxy.add(framework)
  warn(
    'TOLLGATE_PROXY',
    `A request came with a forwarded header, but ${framework} trusts no proxy at its address, so all clients behind one ` +
      `count as one address. If there is a proxy, say so, such as by ${trustSetting}; if not, a client made the header up.`,
  )
}

function warnOfTrust<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { framework, trustSetting, trustsAll } = adapter
  if (toldOfTrust.has(framework) || !trustsAll?.(req)) return
  toldOfTrust.add(framework)
  warn(
    'TOLLGATE_TRUST',
    `${framework} trusts every proxy, so a client that makes up an X-Forwarded-For for each request is never limited by its ` +
      `address. Say how many proxies are yours, or which networks they are in, such as ${trustSetting}.`,
  )
}
