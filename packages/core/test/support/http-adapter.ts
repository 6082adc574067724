// The smallest possible framework.
import type { HttpAdapter } from '../../src/adapter.js'

/** An adapter whose requests come from one address and whose responses keep nothing, with what `change` replaces. */
export function httpAdapter<Req = object, Res = object>(
  change: Partial<HttpAdapter<Req, Res>> = {},
): HttpAdapter<Req, Res> {
  return {
    framework: 'framework of this test',
    trustSetting: 'none',
    method: () => 'GET',
    header: () => undefined,
    ip: () => '192.0.2.1',
    hasLeft: () => false,
    trustsProxy: () => false,
    attach: () => {},
    isSent: () => false,
    getHeader: () => undefined,
    setHeader: () => {},
    removeHeader: () => {},
    setStatus: () => 200,
    end: () => {},
    onEnd: () => {},
    ...change,
  }
}
