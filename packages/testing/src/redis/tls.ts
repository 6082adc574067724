import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startRedis, type RedisServer } from './server.ts'

/** A server with TLS on `tlsPort`, and without on `port`. */
export interface TlsRedis extends RedisServer {
  /** Begins with `rediss:`. */
  readonly url: string
  readonly tlsPort: number
  /** The certificate that a client must trust, in PEM. Self-signed, for localhost and 127.0.0.1. */
  readonly ca: string
}

/**
 * Starts a Redis with TLS. Its certificate and key are made for it.
 *
 * @param options.isExpired whether its certificate was valid until yesterday
 * @throws when the machine has no openssl, or its Redis is built without TLS
 */
export async function startTlsRedis(options: { readonly isExpired?: boolean } = {}): Promise<TlsRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'))
  const forget = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const { cert, key } = makeCertificate(folder, options)
    const tlsPort = await freePort()
    const server = await startRedis({
      args: [
        ...['--tls-port', String(tlsPort), '--tls-cert-file', cert, '--tls-key-file', key],
        ...['--tls-ca-cert-file', cert, '--tls-auth-clients', 'no'],
      ],
    })
    return { ...server, url: `rediss://127.0.0.1:${tlsPort}`, tlsPort, ca: readFileSync(cert, 'utf8') }
  } finally {
    // The server has read the files by now.
    forget()
  }
}

function makeCertificate(
  folder: string,
  { isExpired = false }: { readonly isExpired?: boolean },
): { cert: string; key: string } {
  const cert = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  const args = [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
    ...['-keyout', key, '-out', cert],
  ]
  try {
    execFileSync('openssl', args, { stdio: 'pipe' })
    const again = ['x509', '-in', cert, '-signkey', key, '-days', '-1', '-out', cert]
    if (isExpired) execFileSync('openssl', again, { stdio: 'pipe' })
  } catch (error) {
    throw new Error('a certificate for TLS tests needs openssl on the PATH', { cause: error })
  }
  return { cert, key }
}
