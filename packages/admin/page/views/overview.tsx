import type { VNode } from 'preact'
import { RefusalsChart } from '../charts/refusals-chart.tsx'
import { TrafficChart } from '../charts/traffic-chart.tsx'
import { live, type Live } from '../live.ts'
import { useStore } from '../store.ts'
import { coverageText } from './coverage.ts'
import { Figures } from './figures.tsx'
import { Denied, Empty, Outage } from './notices.tsx'
import { Process } from './process.tsx'
import { Rankings } from './rankings.tsx'

function oldAtOf({ connection, overview, figuresAt }: Live): number | undefined {
  if (figuresAt === 0) return undefined
  const isOld = connection === 'reconnecting' || connection === 'denied' || overview?.figures === null
  return isOld ? figuresAt : undefined
}

/** What the process says of itself is only old if it does not say it. */
function hereAtOf({ connection, heardAt }: Live): number | undefined {
  const isOld = heardAt > 0 && (connection === 'reconnecting' || connection === 'denied')
  return isOld ? heardAt : undefined
}

function Notices({ connection, overview, figuresAt, said }: Live): VNode | null {
  if (connection === 'denied') return <Denied says={said} />
  if (!overview) return null
  const { figures, problem = '', process } = overview
  if (figures === null) return <Outage problem={problem} process={process} figuresAt={figuresAt} />
  return figures.requests === 0 ? <Empty processes={figures.processes} /> : null
}

export function Overview(): VNode {
  const now = useStore(live)
  const { figures, overview } = now
  const oldAt = oldAtOf(now)
  const hereAt = hereAtOf(now)
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        <p class="covers">{figures ? coverageText(figures, []) : 'Waiting for the first figures'}</p>
      </div>
      <Notices {...now} />
      <Figures
        figures={figures}
        overview={overview}
        isOld={oldAt !== undefined}
        isHereOld={hereAt !== undefined}
      />
      <div class="charts">
        <TrafficChart samples={overview?.samples ?? NONE} oldAt={oldAt} />
        <RefusalsChart />
      </div>
      <Rankings figures={figures} oldAt={oldAt} />
      <Process process={overview?.process ?? null} oldAt={hereAt} />
    </>
  )
}

const NONE: readonly never[] = []
