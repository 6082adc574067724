import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { SubjectAnswer } from '../../src/answers.ts'
import { Panel } from '../parts/panel.tsx'
import { useSession } from '../session.ts'
import { BlockDialog } from './block.tsx'
import type { Ends } from './dialog.tsx'
import { OverrideDialog } from './override.tsx'
import { ForgetDialog, RenewDialog, ResetDialog, topUppable, TopUpDialog } from './units.tsx'

export interface FormGiven extends Ends {
  readonly subject: SubjectAnswer
}

const ACTIONS = [
  { kind: 'block', title: 'Block', note: 'Refuse all its requests for a while', Form: BlockDialog },
  { kind: 'override', title: 'Override', note: 'Give it other limits for a while', Form: OverrideDialog },
  { kind: 'topUp', title: 'Top up', note: 'Add units beside its quota', Form: TopUpDialog },
  { kind: 'renew', title: 'Renew', note: 'Begin one limit afresh', Form: RenewDialog },
  { kind: 'reset', title: 'Reset', note: 'Begin all its limits afresh', Form: ResetDialog },
  {
    kind: 'forgetPlan',
    title: 'Forget plan',
    note: 'Have its plan looked up again',
    Form: ForgetDialog,
  },
] as const

function isImpossible(kind: Kind, subject: SubjectAnswer): boolean {
  return kind === 'topUp' && topUppable(subject).length === 0
}

type Kind = (typeof ACTIONS)[number]['kind']

interface Given {
  readonly subject: SubjectAnswer | null
  readonly refetch: () => void
}

export function Actions({ subject, refetch }: Given): VNode {
  const [open, setOpen] = useState<Kind | null>(null)
  const may = useSession()?.actions
  const offered = may ? ACTIONS.filter(({ kind }) => may.includes(kind)) : ACTIONS
  const Form = offered.find(({ kind }) => kind === open)?.Form
  return (
    <Panel title="Actions" name="actions">
      {offered.length === 0 ? (
        <p class="none">You may look here, and change nothing.</p>
      ) : (
        <ul>
          {offered.map(({ kind, title, note }) => (
            <li key={kind}>
              <button
                type="button"
                disabled={!subject || !may || isImpossible(kind, subject)}
                onClick={() => setOpen(kind)}
              >
                {title}
              </button>
              <span class="soft">
                {subject && isImpossible(kind, subject)
                  ? `Only limits by the month or with fixed windows can have top-ups${may?.includes('override') ? ': use Override' : ''}`
                  : note}
              </span>
            </li>
          ))}
        </ul>
      )}
      {Form && subject && <Form subject={subject} onDone={refetch} onClose={() => setOpen(null)} />}
    </Panel>
  )
}
