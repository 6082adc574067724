import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { HistoryAnswer, RuleAnswer } from '../../src/answers.ts'
import { LiftDialog } from '../forms/lift.tsx'
import { liftBody } from '../forms/lift-body.ts'
import { CustomerLink, Name } from '../parts/name.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.ts'
import { shortText, shownText } from '../words.ts'
import { effectText } from './effect.ts'

type Ruled = RuleAnswer | HistoryAnswer

function Of({ rule }: { readonly rule: Ruled }): VNode {
  const { of, kind, plan } = rule
  if (kind === 'scale' || of.endsWith('*')) return <Name id={of} />
  return <CustomerLink id={of} {...(plan && kind !== 'override' && { plan })} />
}

function Effect({ rule }: { readonly rule: Ruled }): VNode {
  return <span dir="auto">{effectText(rule)}</span>
}

function Why({ rule: { by, reason } }: { readonly rule: Ruled }): VNode {
  return (
    <>
      {by && <Name id={by} />}
      {reason && <bdi class="soft reason">{shownText(reason)}</bdi>}
    </>
  )
}

const OF: Column<Ruled> = { title: 'Of', name: 'wide', cell: (rule) => <Of rule={rule} /> }
const EFFECT: Column<Ruled> = { title: 'Effect', name: 'effect', cell: (rule) => <Effect rule={rule} /> }
const BY: Column<Ruled> = { title: 'By and why', name: 'by-column', cell: (rule) => <Why rule={rule} /> }
const UNTIL: Column<Ruled> = { title: 'Until', name: 'when', cell: ({ until }) => <Time at={until} /> }

function liftColumn(lift: (rule: RuleAnswer) => void): Column<RuleAnswer> {
  return {
    title: 'Change',
    name: 'act',
    cell: (rule) => (
      <button
        type="button"
        class="small"
        aria-label={`Lift the ${rule.kind} of ${shortText(rule.of)}`}
        onClick={() => lift(rule)}
      >
        Lift
      </button>
    ),
  }
}

interface RulesGiven {
  readonly rules: readonly RuleAnswer[] | null
  readonly refetch: () => void
  readonly none: string
}

export function RulesTable({ rules, refetch, none }: RulesGiven): VNode {
  const mayLift = useMay('lift')
  const [lifted, setLifted] = useState<RuleAnswer | null>(null)
  const columns: readonly Column<RuleAnswer>[] = [
    OF,
    EFFECT,
    UNTIL,
    BY,
    ...(mayLift ? [liftColumn(setLifted)] : []),
  ]
  return (
    <>
      <Table
        stacks
        caption="Rules that hold"
        columns={columns}
        rows={rules}
        keyOf={({ kind, of, until }) => `${kind} ${of} ${until}`}
        none={none}
        first={20}
      />
      {lifted && (
        <LiftDialog
          title={`Lift the ${lifted.kind} of ${shortText(lifted.of)}`}
          button={`Lift the ${lifted.kind}`}
          means={`${effectText(lifted)}: this ends now.`}
          body={liftBody(lifted)}
          onDone={refetch}
          onClose={() => setLifted(null)}
        />
      )}
    </>
  )
}

const ACTIONS: Readonly<Record<HistoryAnswer['action'], string>> = { set: 'set', lifted: 'lifted' }

const HISTORY: readonly Column<HistoryAnswer>[] = [
  { title: 'When', name: 'when', cell: ({ at }) => <Time at={at} hasSeconds /> },
  { ...OF, name: 'wide' },
  {
    title: 'What',
    name: 'effect',
    cell: (entry) => (
      <span>
        <span class={`action ${entry.action}`}>{ACTIONS[entry.action]}</span> <Effect rule={entry} />
      </span>
    ),
  },
  { ...UNTIL, name: 'until' },
  BY,
]

interface HistoryGiven {
  readonly history: readonly HistoryAnswer[] | null
  readonly none: string
}

export function HistoryTable({ history, none }: HistoryGiven): VNode {
  return (
    <Table
      stacks
      caption="Changes of rules, the latest first"
      columns={HISTORY}
      rows={history}
      keyOf={({ at, kind, of, action }) => `${at} ${kind} ${of} ${action}`}
      none={none}
    />
  )
}
