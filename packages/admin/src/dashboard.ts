import { internalsOf, isHiddenId } from '@tollgate/core/adapter'
import type { Limiter } from '@tollgate/core'
import { Access, type Asking } from './access/access.js'
import { crossSiteProblem } from './access/same-site.js'
import type { PlansAnswer, RefusalsAnswer, RulesAnswer, SessionAnswer } from './answers.js'
import { change, CHANGE_KINDS, readChange } from './changes.js'
import { Live } from './live.js'
import { originsOf, type DashboardOptions, type Operator } from './options.js'
import { plansOf, plansReport } from './reports/plans.js'
import { isOfStore, reasonOf } from './reports/reason.js'
import { refusalsReport } from './reports/refusals.js'
import { rulesReport } from './reports/rules.js'
import { SubjectReports, TooManyReports } from './reports/subject.js'
import { hiddenId, pageResponse, problem, redirect, secured, wrongMethod } from './responses.js'
import { Shared } from './shared.js'
import { STREAM, stream } from './stream.js'

/** The last hour is read so often at most, in ms. */
const REFUSALS_MS = 10_000
/** The same of all rules. */
const RULES_MS = 1000
const LONGEST_BODY = 16_384
/** More streams than people look with. */
const MOST_STREAMS = 100

type Read = (url: URL) => Promise<unknown>

/** A dashboard of one limiter, for any host: a request in, a response out. */
export class Dashboard<Req> {
  readonly access: Access<Req>
  readonly #limiter: Limiter
  readonly #origins: readonly string[]
  readonly #readOnly: boolean
  readonly #live: Live
  readonly #subjects: SubjectReports
  readonly #reads: ReadonlyMap<string, Read>
  readonly #refusals: Shared<RefusalsAnswer>
  readonly #rules: Shared<RulesAnswer>

  constructor(limiter: Limiter, { authorize, readOnly = false, origin }: DashboardOptions<Req>) {
    this.access = new Access(limiter, authorize)
    this.#limiter = limiter
    this.#origins = originsOf(origin)
    this.#readOnly = readOnly
    this.#live = new Live(limiter)
    this.#rules = new Shared(() => rulesReport(limiter), RULES_MS)
    this.#refusals = new Shared(() => refusalsReport(limiter), REFUSALS_MS)
    this.#subjects = new SubjectReports(limiter, this.#rules)
    this.#reads = new Map<string, Read>([
      ['/api/overview', () => this.#live.overview()],
      ['/api/refusals', () => this.#refusals.value()],
      ['/api/rules', () => this.#rules.value()],
      ['/api/plans', () => this.#plans()],
      ['/api/subject', ({ searchParams }) => this.#subject(searchParams)],
    ])
  }

  /**
   * Answers a request. Never rejects.
   *
   * @param path behind where the dashboard is mounted, with a slash first; empty for the mount itself without a slash
   */
  async answer(request: Request, path: string, asking: Asking<Req>): Promise<Response> {
    let response: Response
    try {
      response = await this.#answer(request, path, asking)
    } catch (error) {
      response = isOfStore(error)
        ? problem(503, reasonOf(error), { 'Retry-After': '1' })
        : problem(500, 'The dashboard failed.')
    }
    return secured(response)
  }

  async #answer(request: Request, path: string, asking: Asking<Req>): Promise<Response> {
    const { method } = request
    if (path === '/api/changes')
      return method === 'POST' ? this.#change(request, asking) : wrongMethod(this.#readOnly ? '' : 'POST')
    if (method !== 'GET' && method !== 'HEAD') return wrongMethod('GET, HEAD')
    // Two slashes would be another host.
    const page = `${asking.base.replace(/^\/+/, '/')}/`
    // The cookie is for what is below. Where it is not needed there is no redirect, since some hosts take the slash away again.
    if (path === '' && this.access.local) return redirect(page + new URL(request.url).search)
    if (path === '/') {
      const cookie = this.access.local?.exchange(request, asking.peer, page)
      if (cookie !== undefined) return redirect(page, { 'Set-Cookie': cookie })
    }
    const operator = await this.access.operatorOf(request, asking, 'read')
    if (!operator) return this.#refusal()
    if (path === '/' || path === '') return pageResponse()
    if (path === '/api/live' && method === 'HEAD') return new Response(null, { headers: STREAM })
    if (path === '/api/live') return this.#follow(request, asking)
    if (path === '/api/session') return Response.json(await this.#session(operator, request, asking))
    const read = this.#reads.get(path)
    if (!read) return problem(404, 'There is no such page.')
    const answer = await read(new URL(request.url))
    return answer instanceof Response ? answer : Response.json(answer)
  }

  #refusal(): Response {
    const { local } = this.access
    if (!local) return problem(403, 'You may not look at this.')
    const remedy = 'give the option authorize, which says who may look'
    return problem(
      403,
      local.token === undefined
        ? `The link was used already. Start the process again for a new one, or ${remedy}.`
        : `Open the link with the token, on the machine itself, or ${remedy}.`,
    )
  }

  async #session({ by }: Operator, request: Request, asking: Asking<Req>): Promise<SessionAnswer> {
    const { name } = internalsOf(this.#limiter)
    const kinds = this.#readOnly ? [] : CHANGE_KINDS
    const may = await Promise.all(kinds.map((kind) => this.access.operatorOf(request, asking, kind)))
    return {
      ...(name !== undefined && { name }),
      by,
      actions: kinds.filter((_, i) => may[i] !== undefined),
      plans: plansOf(this.#limiter),
    }
  }

  async #plans(): Promise<PlansAnswer> {
    const [{ rules }] = await Promise.all([this.#rules.value(), this.#live.overview()])
    return plansReport(this.#limiter, rules, this.#live.view)
  }

  async #subject(asked: URLSearchParams): Promise<unknown> {
    const id = asked.get('id')
    if (!id) return problem(400, 'id: it is missing.')
    if (isHiddenId(id)) return hiddenId()
    const about = { id, isAddress: asked.get('ip') === '1', plan: asked.get('plan') ?? undefined }
    try {
      return await this.#subjects.report(about)
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
      if (error instanceof TooManyReports)
        return problem(503, 'Too many customers are looked at.', { 'Retry-After': '1' })
      if (isOfStore(error) || typeof code !== 'string') throw error
      return problem(400, `${String(message)}.`)
    }
  }

  #follow(request: Request, asking: Asking<Req>): Response {
    if (this.#live.followers >= MOST_STREAMS) return problem(503, 'Too many pages follow live figures.')
    const mayLook = async (): Promise<boolean> =>
      (await this.access.operatorOf(request, asking, 'read')) !== undefined
    return stream(this.#live, mayLook)
  }

  async #change(request: Request, asking: Asking<Req>): Promise<Response> {
    if (this.#readOnly) return wrongMethod('', 'This dashboard is read-only.')
    const foreign = crossSiteProblem(request, this.#origins)
    if (foreign) return foreign
    if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
      return problem(415, 'The body has to be JSON.')
    const text = await textOf(request)
    if (text === undefined) return problem(413, 'The body is too long.')
    const body = readChange(text)
    if (body instanceof Response) return body
    const operator = await this.access.operatorOf(request, asking, body.kind)
    if (!operator) return this.access.local ? this.#refusal() : problem(403, 'You may not change this.')
    const response = await change(this.#limiter, body, {
      ...operator,
      planOf: (asked) => this.#subjects.planByNow(asked),
    })
    this.#subjects.forget()
    this.#rules.forget()
    return response
  }
}

/** The body; undefined if it is longer than any change. Then the rest is not read. */
async function textOf(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > LONGEST_BODY) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > LONGEST_BODY) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
