import { randomBytes, timingSafeEqual } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Operator } from '../options.js'

/** Cookies of one host go to all its ports, so each dashboard has a name of its own. */
const COOKIE = 'tollgate_dashboard_'

/**
 * Lets in browsers on the same machine that bring a token, once, and that keep a cookie from then on.
 *
 * The address alone proves nothing: behind a proxy on the same machine every caller has it, and a page whose name an attacker points here
 * (DNS rebinding) reaches it from a browser on this machine. The token proves it. The other checks keep a token that got into a wrong hand
 * from being of use elsewhere.
 */
export class LocalAccess {
  readonly #name = COOKIE + randomBytes(4).toString('hex')
  readonly #session = randomBytes(32).toString('base64url')
  #token: string | undefined = randomBytes(32).toString('base64url')

  /** What the first browser has to bring; undefined once one has. */
  get token(): string | undefined {
    return this.#token
  }

  operatorOf(request: Request, peer: string | undefined): Operator | undefined {
    if (!isLocal(request, peer)) return undefined
    const cookies = (request.headers.get('cookie') ?? '').split(/;\s*/)
    const given = cookies.find((one) => one.startsWith(`${this.#name}=`))?.slice(this.#name.length + 1)
    return given !== undefined && isSame(given, this.#session) ? { by: whoami() } : undefined
  }

  /** @returns the cookie for a browser that has brought the token; undefined for another one, or if one has brought it before */
  exchange(request: Request, peer: string | undefined, path: string): string | undefined {
    const given = new URL(request.url).searchParams.get('token')
    // What looks at a link without opening it, such as a preview, does not use it up.
    if (request.method !== 'GET' || given === null || this.#token === undefined || !isLocal(request, peer))
      return undefined
    if (!isSame(given, this.#token)) return undefined
    this.#token = undefined
    return `${this.#name}=${this.#session}; HttpOnly; SameSite=Strict; Path=${path}`
  }
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const FORWARDED = /^(?:forwarded|x-forwarded(?:-.*)?|(?:x-real|x-client|true-client|cf-connecting)-ip|via)$/i

/** Whether both ends of the connection are this machine, and no proxy says that it is in between. */
function isLocal({ headers }: Request, peer: string | undefined): boolean {
  if (peer === undefined || !LOOPBACK.test(peer)) return false
  if (!LOOPBACK_HOST.test(headers.get('host') ?? '')) return false
  return ![...headers.keys()].some((name) => FORWARDED.test(name))
}

function isSame(given: string, known: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(known)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Who works at this machine. */
function whoami(): string {
  try {
    return userInfo().username || 'local'
  } catch {
    // A container can run as a user without a name.
    return 'local'
  }
}
