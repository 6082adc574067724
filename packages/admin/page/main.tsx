import { render, type VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import type { SessionAnswer } from '../src/answers.ts'
import { useFetched } from './fetched.ts'
import { Header } from './header.tsx'
import { followLive, live } from './live.ts'
import { Problem } from './parts/panel.tsx'
import { useRoute, type Route } from './route.ts'
import { Session } from './session.ts'
import { useStore } from './store.ts'
import { startTheme } from './theme.ts'
import { Toast } from './toast.tsx'
import { CustomerPage } from './views/customer.tsx'
import { Denied } from './views/notices.tsx'
import { Overview } from './views/overview.tsx'
import { Plans } from './views/plans.tsx'
import { Rules } from './views/rules.tsx'
import { shortText } from './words.ts'

/** Who looks changes rarely: a new session comes with a reload. */
const SESSION_MS = 60_000

const ZONE = new Intl.DateTimeFormat('en').resolvedOptions().timeZone

const TITLES = { overview: 'Overview', plans: 'Plans', rules: 'Rules' } as const

function titleOf(route: Route): string {
  return route.page === 'customer' ? shortText(route.customer.id) : TITLES[route.page]
}

function Page({ route }: { readonly route: Route }): VNode {
  if (route.page === 'customer') {
    return <CustomerPage key={JSON.stringify(route.customer)} customer={route.customer} />
  }
  if (route.page === 'plans') return <Plans />
  return route.page === 'rules' ? <Rules /> : <Overview />
}

function App(): VNode {
  const route = useRoute()
  const { answer: session, problem } = useFetched<SessionAnswer>('api/session', SESSION_MS)
  const { connection, said } = useStore(live)
  const isKnown = session !== null
  useEffect(() => (isKnown ? followLive() : undefined), [isKnown])
  const title = titleOf(route)
  useEffect(() => {
    document.title = [title, session?.name, 'Tollgate'].filter(Boolean).join(' | ')
  }, [title, session?.name])
  return (
    <Session.Provider value={session}>
      <Header page={route.page} />
      <main tabIndex={-1}>
        {!isKnown && <Problem says={problem} />}
        {connection === 'denied' && route.page !== 'overview' && <Denied says={said} />}
        <Page route={route} />
      </main>
      <footer>
        {ZONE === 'UTC'
          ? 'Times are in UTC.'
          : `Times are those of ${ZONE}. Hold the pointer over one for UTC.`}
      </footer>
      <Toast />
    </Session.Provider>
  )
}

startTheme()
const root = document.getElementById('page')
if (root) render(<App />, root)
