import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { FormGiven } from './actions.tsx'
import { FormDialog } from './dialog.tsx'
import { bodyOf, EndField, firstEnd, forText, untilText } from './end.tsx'
import { ReasonField } from './fields.tsx'
import { blockText } from './meaning.ts'
import { buttonName, reasonOf, titleName, whomOf } from './whom.ts'

export function BlockDialog({ subject, ...ends }: FormGiven): VNode {
  const [end, setEnd] = useState(firstEnd)
  const [reason, setReason] = useState('')
  const endBody = bodyOf(end)
  return (
    <FormDialog
      {...ends}
      title={`Block ${titleName(subject)}`}
      button={`Block ${buttonName(subject)} ${forText(end)}`}
      means={blockText(subject, untilText(end))}
      body={endBody ? { kind: 'block', ...whomOf(subject), ...endBody, ...reasonOf(reason) } : null}
      isGrave
    >
      <EndField end={end} set={setEnd} />
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
