import type { VNode } from 'preact'
import type { DenialAnswer, SubjectAnswer } from '../../src/answers.ts'
import { Panel } from '../parts/panel.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { durationText, numberText, reasonText, shortText, shownText, timeText } from '../words.ts'

function waitSentence(waitMs: number | null): string {
  if (waitMs === null) return 'No wait would have let it pass.'
  return waitMs > 0
    ? `It would have passed ${durationText(waitMs)} later.`
    : 'It would have passed at once again.'
}

export function whyText(denial: DenialAnswer): string {
  const { last, limit, reason, used, quota, cost, waitMs } = denial
  const at = timeText(last)
  if (limit === undefined) return `Refused at ${at} because ${reasonText(reason)}. ${waitSentence(waitMs)}`
  const counted =
    used === undefined || quota === undefined ? '' : `${numberText(used)} of ${numberText(quota)} used, `
  const asked = `the request cost ${numberText(cost)}`
  return `Refused at ${at} by the limit ${shortText(limit)}: ${counted}${asked}. ${waitSentence(waitMs)}`
}

function When({ denial: { first, last, count } }: { readonly denial: DenialAnswer }): VNode {
  return (
    <>
      <Time at={last} hasSeconds />
      {count > 1 && first !== last && (
        <span class="soft since">
          since <Time at={first} hasSeconds />
        </span>
      )}
    </>
  )
}

const COLUMNS: readonly Column<DenialAnswer>[] = [
  { title: 'When', name: 'when', cell: (denial) => <When denial={denial} /> },
  { title: 'Times', name: 'figure', cell: ({ count }) => numberText(count) },
  {
    title: 'By',
    name: 'text',
    cell: ({ limit, reason }) => <bdi>{limit === undefined ? reasonText(reason) : shownText(limit)}</bdi>,
  },
  { title: 'Cost', name: 'figure', cell: ({ cost }) => numberText(cost) },
  {
    title: 'Used',
    name: 'figure',
    cell: ({ used, quota }) =>
      used === undefined || quota === undefined ? '–' : `${numberText(used)} of ${numberText(quota)}`,
  },
  {
    title: 'Would have passed after',
    short: 'Fits after',
    name: 'figure',
    cell: ({ waitMs }) => (waitMs === null ? 'never' : durationText(waitMs)),
  },
  {
    title: 'Route',
    name: 'text',
    cell: ({ route }) => <bdi class="route">{route ? shownText(route) : '–'}</bdi>,
  },
]

export function Denials({ subject }: { readonly subject: SubjectAnswer | null }): VNode {
  const latest = subject?.denials[0]
  return (
    <Panel
      title="Refusals"
      covers={
        subject ? (
          <>
            Last day, complete since <Time at={subject.denialsFrom} />
          </>
        ) : (
          'Last day'
        )
      }
    >
      {latest && <p class="why">{whyText(latest)}</p>}
      <Table
        stacks
        caption="Its refusals, the latest first"
        columns={COLUMNS}
        rows={subject?.denials ?? null}
        keyOf={({ first, limit = '', reason, route = '' }) => `${first} ${limit} ${reason} ${route}`}
        none="It was not refused."
      />
    </Panel>
  )
}
