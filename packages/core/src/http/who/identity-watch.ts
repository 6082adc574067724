import { isSilent, type Warn } from '../../base/warnings.js'
import { internalsOf } from '../../limiter/internals.js'
import type { Limiter } from '../../limiter/limiter.js'
import type { Subject } from '../../plans/subject.js'
import { isIpSubject } from '../../requests/subject/address.js'
import type { HttpAdapter, ResponseEnd } from '../adapter.js'
import { isByAddress, isSomebody, type Identified, type Identify } from './identify.js'

/**
 * One in this many requests without a subject is looked at again. It is drawn at random, since a client may call routes in
 * turn.
 */
const ONE_IN = 5
/** The most requests that are looked at in the life of a process: `identify` may cost a database query. */
const MOST_LOOKS = 50
/** `identify` is late if it finds a subject for 6 of the last 10 of them, on 3 routes, none of which has more than half. */
const [SAMPLES, MOST_OF, ROUTES] = [10, 6, 3]
/** After this many requests a warning says that `identify` never gave anything. */
const FIRST = 1000

const LATE = `identify found no subject when requests were counted, but found one after their responses: authentication runs \
after the limiter, so requests of known clients count by address, on the default plan. Put authentication in front of the \
limiter.`
const NOTHING = `identify returned nothing for its first ${FIRST} requests, so all of them count by address, on the default \
plan. Check that it reads what authentication sets on a request, and that authentication runs first. To count by address, \
leave identify out.`

/** A request that was looked at again. */
interface Sample {
  readonly route: string
  readonly isNamed: boolean
}

type AnyRequest = Partial<Readonly<Record<'originalUrl' | 'url', unknown>>>

/**
 * Finds out whether `identify` is called too early, before authentication: then it finds no subject for a request, but
 * does once the response is over. A login route rightly behaves so, so one route is not enough.
 *
 * Calls `identify` at most 50 more times. What these calls return or throw never reaches the application.
 */
export class IdentityWatch<Req extends object> {
  readonly #adapter: HttpAdapter<Req, never>
  readonly #identify: Identify<Req>
  readonly #warn: Warn
  #isOver = false
  #hasGiven = false
  #unnamed = 0
  /** Which of the next `ONE_IN` requests is looked at. */
  #drawn = 0
  #looksLeft = MOST_LOOKS
  readonly #samples: Sample[] = []

  constructor(adapter: HttpAdapter<Req, never>, identify: Identify<Req>, warn: Warn) {
    this.#adapter = adapter
    this.#identify = identify
    this.#warn = warn
  }

  /**
   * Call it with each request.
   *
   * @param found what `identify` returned; undefined if nothing
   */
  met<Res>(req: Req, res: Res, found: readonly Subject[] | undefined): void {
    if (this.#isOver) return
    if (found) this.#hasGiven = true
    if (found && !found.every(isIpSubject)) return
    const index = this.#unnamed % ONE_IN
    if (index === 0) this.#drawn = Math.floor(Math.random() * ONE_IN)
    if (index === this.#drawn && this.#looksLeft > 0) this.#lookAfter(req, res)
    this.#unnamed += 1
    if (this.#unnamed < FIRST) return
    this.#isOver = true
    if (!this.#hasGiven) this.#warn('TOLLGATE_NO_IDENTITY', NOTHING)
  }

  /** Stops looking at requests here, for an adapter that does so itself at a better moment. */
  lookElsewhere(): void {
    this.#looksLeft = 0
  }

  /** Warns that `identify` is called too early, unless the warning was given before or is known to be wrong. */
  isLate(text: string = LATE): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#warn('TOLLGATE_LATE_IDENTITY', text)
  }

  #lookAfter(req: Req, res: unknown): void {
    this.#looksLeft -= 1
    try {
      this.#adapter.onEnd(res as never, (end) => void this.#look(req, end))
    } catch {
      // A mock response of a test has no events.
    }
  }

  /** Whether `identify` finds a subject now. Undefined if it throws: its first call has shown the application what it throws. */
  async findsSubject(req: Req): Promise<boolean | undefined> {
    try {
      const found = [await this.#identify(req)].flat() as readonly Identified[]
      return found.some(isSomebody)
    } catch {
      return undefined
    }
  }

  /** Never rejects: the request was decided long ago, and its errors with it. */
  async #look(req: Req, { status, isAborted }: ResponseEnd): Promise<void> {
    // For a request that was denied or failed, authentication may not have run.
    if (isAborted || !(Number(status) < 400)) return
    const isNamed = await this.findsSubject(req)
    if (isNamed === undefined) return
    try {
      this.#note({ route: this.#routeFor(req), isNamed })
    } catch {
      // A request whose URL is no text any more says nothing of its route.
    }
  }

  #note(sample: Sample): void {
    this.#samples.push(sample)
    if (this.#samples.length > SAMPLES) this.#samples.shift()
    const named = this.#samples.filter(({ isNamed }) => isNamed).map(({ route }) => route)
    const countOf = (route: string): number => named.filter((other) => other === route).length
    const routes = new Set(named)
    if (named.length < MOST_OF || this.#samples.length < SAMPLES || routes.size < ROUTES) return
    if ([...routes].every((route) => countOf(route) * 2 <= named.length)) this.isLate()
  }

  /** From the URL, since a pattern may lack the path of its router. Parts with digits, or long ones, are taken for ids. */
  #routeFor(req: AnyRequest & Req): string {
    const [path = ''] = String(req.originalUrl ?? req.url).split('?', 1)
    const parts = path.slice(0, 200).split('/')
    const isId = (part: string): boolean => part.length > 20 || /\d/.test(part)
    return `${this.#adapter.method(req)} ${parts.map((part) => (isId(part) ? ':' : part)).join('/')}`
  }
}

/** By the limiter and the function: routes of a limiter that share an `identify` share its watch. */
const watches = new WeakMap<Limiter, WeakMap<object, unknown>>()

/**
 * Returns what watches whether a limiter's `identify` is called before authentication. Undefined if requests count by
 * address, or if warnings are off.
 */
export function watchIdentity<Req extends object>(
  adapter: HttpAdapter<Req, never>,
  identify: Identify<Req> | undefined,
  limiter: Limiter,
): IdentityWatch<Req> | undefined {
  const { warn } = internalsOf(limiter)
  if (!identify || isByAddress(identify) || isSilent(warn)) return undefined
  const ofLimiter = watches.get(limiter) ?? new WeakMap<object, unknown>()
  watches.set(limiter, ofLimiter)
  const watch = ofLimiter.get(identify) ?? new IdentityWatch(adapter, identify, warn)
  ofLimiter.set(identify, watch)
  return watch as IdentityWatch<Req>
}
