import type { VNode } from 'preact'
import type { ProcessAnswer } from '../../src/answers.ts'
import { Time } from '../parts/time.tsx'

const POLICIES: Readonly<Record<string, string>> = {
  local:
    'This process answers by itself: each customer has a share of its quota here until the store is back (failure policy “local”).',
  open: 'This process lets all requests through until the store is back (failure policy “open”).',
  closed: 'This process refuses all requests until the store is back (failure policy “closed”).',
}

function policyText({ answeredBy }: ProcessAnswer): string {
  const kind = ['local', 'open', 'closed'].find((one) => (answeredBy[one] ?? 0) > 0)
  const fallback =
    'No request came to this process meanwhile. Its failure policy says how it answers the next: by a local share, open or closed.'
  return (kind && POLICIES[kind]) ?? fallback
}

interface OutageGiven {
  readonly problem: string
  readonly process: ProcessAnswer
  readonly figuresAt: number
}

export function Outage({ problem, process, figuresAt }: OutageGiven): VNode {
  return (
    <section class="notice outage" aria-labelledby="outage">
      <h2 id="outage">The store does not answer</h2>
      {problem !== 'The store does not answer.' && <p>{problem}</p>}
      <ul>
        <li>{policyText(process)}</li>
        <li>
          What this process knows of itself still shows: what answers now, the breaker, and the end of this
          page.
        </li>
        <li>Customers, plans and changes need the store. They work again as soon as it answers.</li>
      </ul>
      <p class="soft">
        Trying again every two seconds.
        {figuresAt > 0 && (
          <>
            {' '}
            The greyed figures are those of <Time at={figuresAt} hasSeconds />.
          </>
        )}
      </p>
    </section>
  )
}

export function Empty({ processes }: { readonly processes: number }): VNode {
  return (
    <section class="notice" aria-labelledby="empty">
      <h2 id="empty">No requests yet</h2>
      <p>Send a request through the limiter. It shows here within two seconds:</p>
      <pre>
        <code>{"await limiter.consume('acme')"}</code>
      </pre>
      {processes === 0 && (
        <>
          <p>
            Requests came, and there is still nothing? Then this page and the process that had them differ:
          </p>
          <ul>
            <li>
              <code>name</code>, <code>prefix</code> and the store must be the same in both.
            </li>
            <li>
              <code>traffic: false</code> must not be set.
            </li>
          </ul>
        </>
      )}
    </section>
  )
}

export function Denied({ says }: { readonly says: string }): VNode {
  return (
    <section class="notice outage" role="alert" aria-labelledby="denied">
      <h2 id="denied">You may not look any more</h2>
      <p>{says || 'The server ended the stream. Your session may be over.'}</p>
      <p>
        <button type="button" class="primary" onClick={() => location.reload()}>
          Reload the page
        </button>
      </p>
    </section>
  )
}
