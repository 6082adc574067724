import type { VNode } from 'preact'
import type { BusyAnswer, DeniedAnswer, FiguresAnswer, NearAnswer } from '../../src/answers.ts'
import { CustomerLink } from '../parts/name.tsx'
import { Panel } from '../parts/panel.tsx'
import { Share } from '../parts/share.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { numberText, shortText } from '../words.ts'
import { coverageText } from './coverage.ts'

interface Seen {
  readonly subject: string
  readonly plan: string
}

function keyOf({ subject, plan }: Seen): string {
  return `${plan} ${subject}`
}

export function Estimate({ value, error }: { readonly value: number; readonly error: number }): VNode {
  return (
    <>
      {numberText(value)}
      {error > 0 && <span class="soft"> ±{numberText(error)}</span>}
    </>
  )
}

interface WhoGiven extends Seen {
  readonly limit?: string
}

function Who({ subject, plan, limit }: WhoGiven): VNode {
  return (
    <span class="who">
      <CustomerLink id={subject} plan={plan} />
      <span class="soft plan">
        <bdi class="plan-name">{shortText(plan)}</bdi>
        {limit !== undefined && <bdi class="limit-name">{shortText(limit)}</bdi>}
      </span>
    </span>
  )
}

const WHO = {
  title: 'Customer',
  name: 'wide',
  cell: (row: Seen) => <Who subject={row.subject} plan={row.plan} />,
}

export const BUSY: readonly Column<BusyAnswer>[] = [
  WHO,
  {
    title: 'Requests',
    name: 'figure',
    cell: ({ requests, error }) => <Estimate value={requests} error={error} />,
  },
  {
    title: 'Refused',
    name: 'share-column',
    cell: ({ requests, denied }) => <Share share={requests > 0 ? denied / requests : 0} tone="refused" />,
  },
]

export const NEAR: readonly Column<NearAnswer>[] = [
  {
    title: 'Customer, limit',
    name: 'wide',
    cell: ({ subject, plan, limit }) => <Who subject={subject} plan={plan} limit={limit} />,
  },
  {
    title: 'Used',
    name: 'figure of-quota',
    cell: ({ used, quota }) => (
      <>
        {numberText(used)} <span class="soft">of {numberText(quota)}</span>
      </>
    ),
  },
  {
    title: 'Share',
    name: 'share-column',
    cell: ({ share }) => <Share share={share} tone={share >= 1 ? 'refused' : 'used'} />,
  },
]

const REFUSED: readonly Column<DeniedAnswer>[] = [
  WHO,
  {
    title: 'Refused',
    name: 'figure',
    cell: ({ denied, error }) => <Estimate value={denied} error={error} />,
  },
]

interface Given {
  readonly figures: FiguresAnswer | null
  readonly oldAt: number | undefined
}

const READING = 'Waiting for the first figures'

export function Rankings({ figures, oldAt }: Given): VNode {
  const { busiest = null, nearest = null, mostDenied = null } = figures ?? {}
  const said = (errors: readonly { readonly error: number }[]): string =>
    figures ? coverageText(figures, errors) : READING
  return (
    <div class="columns">
      <Panel title="Busiest" covers={said(busiest ?? [])} oldAt={oldAt}>
        <Table
          caption="The busiest customers"
          columns={BUSY}
          rows={busiest}
          keyOf={keyOf}
          none="Nobody sent a request."
        />
      </Panel>
      <Panel title="Nearest to a limit" covers={`Highest seen: ${said([])}`} oldAt={oldAt}>
        <Table
          caption="The customers nearest to a limit"
          columns={NEAR}
          rows={nearest}
          keyOf={(row) => `${keyOf(row)} ${row.limit}`}
          none="Nobody is near a limit."
        />
      </Panel>
      <Panel title="Refused most" covers={said(mostDenied ?? [])} oldAt={oldAt}>
        <Table
          caption="The customers refused most"
          columns={REFUSED}
          rows={mostDenied}
          keyOf={keyOf}
          none="Nobody was refused."
        />
      </Panel>
    </div>
  )
}
