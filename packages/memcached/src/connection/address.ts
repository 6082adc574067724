import { ConfigError } from '@tollgate/core/store'

/** Where a server listens, as node:net's `connect` takes it. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

const DEFAULT_PORT = 11211
const EXPECTED = "a server such as '10.0.0.5:11211', '[::1]:11211' or '/run/memcached.sock'"

/**
 * Reads a server's address: `host`, `host:port`, `[ipv6]:port`, or a Unix socket's path.
 *
 * @param path where the user wrote it, for the error, such as `servers[0]`
 * @throws {ConfigError}
 */
export function readAddress(given: unknown, path: string): Address {
  // An address can contain a login, so errors show only its length.
  if (typeof given !== 'string') throw ConfigError.wrong(path, given, EXPECTED)
  if (given.startsWith('/')) return { path: given }
  const [, v6, name, port] = /^(?:\[([\da-f:.]+)\]|(\w(?:[\w.-]*\w)?))(?::(\d{1,5}))?$/i.exec(given) ?? []
  const host = v6 ?? name
  const number = port === undefined ? DEFAULT_PORT : Number(port)
  if (host === undefined || number < 1 || number > 65_535) {
    const remedy = given.includes(',')
      ? ', or several as a list'
      : given.includes('//')
        ? ', without a scheme'
        : ''
    throw ConfigError.wrongSecret(path, given, EXPECTED + remedy)
  }
  return { host: host.toLowerCase(), port: number }
}
