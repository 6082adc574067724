import { internalsOf, thrownText, within } from '@tollgate/core/adapter'
import type { Limiter } from '@tollgate/core'
import type { Authorize, DashboardAction, Operator } from '../options.js'
import { LocalAccess } from './local-access.js'

/** A request, and what only its host knows of it. */
export interface Asking<Req> {
  /** The host's own request. */
  readonly host: Req
  /** The address at the other end of the socket; undefined if the host does not say. */
  readonly peer: string | undefined
  /** Where the dashboard is mounted, without a slash at the end. */
  readonly base: string
}

/** Decides who may do what. */
export class Access<Req> {
  /** Set without `authorize`. */
  readonly local: LocalAccess | undefined
  readonly #limiter: Limiter
  readonly #authorize: Authorize<Req> | undefined

  constructor(limiter: Limiter, authorize: Authorize<Req> | undefined) {
    this.#limiter = limiter
    this.#authorize = authorize
    this.local = authorize ? undefined : new LocalAccess()
  }

  /** Who asks; undefined if that is nobody who may. Never rejects. */
  async operatorOf(
    request: Request,
    { host, peer }: Asking<Req>,
    action: DashboardAction,
  ): Promise<Operator | undefined> {
    if (this.local) return this.local.operatorOf(request, peer)
    try {
      const given = Promise.resolve(this.#authorize?.(host, action))
      return toOperator(await within(given, PATIENCE_MS, tooLate))
    } catch (error) {
      internalsOf(this.#limiter).warnRarely(
        'TOLLGATE_AUTHORIZE',
        `The dashboard's authorize failed, so the request was refused: ${thrownText(error)}`,
      )
      return undefined
    }
  }
}

const LONGEST_NAME = 200
/** Who is not known by then is nobody, in ms. */
const PATIENCE_MS = 10_000

function tooLate(): Error {
  return new Error(`it gave no answer within ${PATIENCE_MS / 1000} s`)
}

/** Anything else than an object with a name is nobody. */
function toOperator(given: unknown): Operator | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { by } = given as Partial<Operator>
  if (typeof by !== 'string') return undefined
  // It is written into notes that people read in terminals.
  const name = by.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()
  return name === '' ? undefined : { by: name.slice(0, LONGEST_NAME) }
}
