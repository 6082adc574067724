import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ChangeBody } from '../../src/answers.ts'
import { FormDialog, type Ends } from './dialog.tsx'
import { ReasonField } from './fields.tsx'

interface Given extends Ends {
  readonly title: string
  readonly button: string
  readonly means: string
  readonly body: ChangeBody
}

/** A change that asks nothing but why. */
export function LiftDialog(given: Given): VNode {
  const [reason, setReason] = useState('')
  const body = { ...given.body, ...(reason.trim() && { reason: reason.trim() }) }
  return (
    <FormDialog {...given} body={body}>
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
