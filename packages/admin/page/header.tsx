import type { VNode } from 'preact'
import { live, type Connection } from './live.ts'
import { Bone } from './parts/panel.tsx'
import { Ago } from './parts/time.tsx'
import type { Route } from './route.ts'
import { Search } from './search.tsx'
import { useSession } from './session.ts'
import { useStore } from './store.ts'
import { THEMES, useTheme, type Theme } from './theme.ts'

const PAGES = [
  ['overview', 'Overview', '#/'],
  ['plans', 'Plans', '#/plans'],
  ['rules', 'Rules', '#/rules'],
] as const

export function Header({ page }: { readonly page: Route['page'] }): VNode {
  const session = useSession()
  return (
    <header class="top">
      <a class="brand" href="#/">
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
          <path d="M8 8v19M4 27h8" />
          <path class="arm" d="M8 13.5 28 7" />
        </svg>
        Tollgate
      </a>
      <p class="limiter">
        <span class="hidden">Limiter </span>
        {session ? <bdi>{session.name}</bdi> : <Bone width="5em" />}
      </p>
      <nav aria-label="Pages">
        {PAGES.map(([name, title, href]) => (
          <a key={name} href={href} aria-current={name === page ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Search />
      <div class="state">
        <LiveMark />
        {session && <Who by={session.by} mayChange={session.actions.length > 0} />}
        <ThemeButton />
      </div>
    </header>
  )
}

function Who({ by, mayChange }: { readonly by: string; readonly mayChange: boolean }): VNode {
  return (
    <>
      {!mayChange && <span class="badge">read-only</span>}
      <span class="by" title={`You are written down as ${by}`}>
        <span class="hidden">You are </span>
        <bdi>{by}</bdi>
      </span>
    </>
  )
}

const STATES: Readonly<Record<Connection, string>> = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  denied: 'stopped',
}

function LiveMark(): VNode {
  const { connection, heardAt, overview } = useStore(live)
  const isOld = heardAt > 0 && connection !== 'live'
  const isSilent = connection === 'live' && overview?.figures === null
  return (
    <span class={`link ${isSilent ? 'silent' : connection}`}>
      <i aria-hidden="true" />
      <span role="status">{isSilent ? 'store silent' : STATES[connection]}</span>
      {isOld && (
        <span class="soft">
          <Ago at={heardAt} />
        </span>
      )}
    </span>
  )
}

const SHAPES: Readonly<Record<Theme, string>> = {
  system: 'M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14',
  light:
    'M10 6.5a3.5 3.5 0 1 0 .01 0M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M16 4l-1.4 1.4M5.4 14.6 4 16',
  dark: 'M16.5 12A7 7 0 0 1 8 3.500 7 7 0 1 0 16.500 12z',
}

function ThemeButton(): VNode {
  const [theme, choose] = useTheme()
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  const says = `Theme: ${theme}. Change to ${next}`
  return (
    <button
      type="button"
      class={`theme ${theme}`}
      aria-label={says}
      title={says}
      onClick={() => choose(next)}
    >
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <path d={SHAPES[theme]} />
      </svg>
    </button>
  )
}
