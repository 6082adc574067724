import type { FiguresAnswer, OverviewAnswer } from '../src/answers.ts'
import { addressOf } from './api.ts'
import { Store } from './store.ts'

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'denied'

/** The latest that the stream said. */
export interface Live {
  readonly connection: Connection
  readonly overview: OverviewAnswer | null
  /** The latest figures that there were, and when. */
  readonly figures: FiguresAnswer | null
  readonly figuresAt: number
  /** When the latest event came, by the clock of this browser. */
  readonly heardAt: number
  /** What the server said when it ended the stream for good. */
  readonly said: string
}

const FIRST: Live = {
  connection: 'connecting',
  overview: null,
  figures: null,
  figuresAt: 0,
  heardAt: 0,
  said: '',
}

export const live = new Store<Live>(FIRST)

/** A stream that was refused does not come back by itself. */
const RETRY_MS = 3_000

function hear(event: Event): void {
  const overview = JSON.parse((event as MessageEvent<string>).data) as OverviewAnswer
  const heardAt = Date.now()
  const { figures, figuresAt } = live.value
  live.set({
    connection: 'live',
    overview,
    figures: overview.figures ?? figures,
    figuresAt: overview.figures ? heardAt : figuresAt,
    heardAt,
    said: '',
  })
}

function deny(event: Event): void {
  const { data } = event as MessageEvent<unknown>
  live.set({ ...live.value, connection: 'denied', said: typeof data === 'string' ? data : '' })
}

export function followLive(): () => void {
  let source: EventSource | undefined
  let timer: number | undefined
  const open = (): void => {
    source = new EventSource(addressOf('api/live'))
    source.addEventListener('overview', hear)
    source.addEventListener('denied', (event) => {
      source?.close()
      deny(event)
    })
    source.addEventListener('error', () => {
      const { connection, heardAt } = live.value
      if (connection === 'denied') return
      live.set({ ...live.value, connection: heardAt === 0 ? 'connecting' : 'reconnecting' })
      if (source?.readyState === EventSource.CLOSED) timer = window.setTimeout(open, RETRY_MS)
    })
  }
  open()
  return () => {
    source?.close()
    window.clearTimeout(timer)
  }
}
