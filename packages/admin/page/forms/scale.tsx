import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PlanAnswer } from '../../src/answers.ts'
import { shortText } from '../words.ts'
import { FormDialog, type Ends } from './dialog.tsx'
import { bodyOf, EndField, firstEnd, forText, untilText } from './end.tsx'
import { ReasonField } from './fields.tsx'
import { FactorField, isFactor } from './factor.tsx'
import { scaleText } from './meaning.ts'

interface Given extends Ends {
  readonly plan: PlanAnswer
}

export function ScaleDialog({ plan, ...ends }: Given): VNode {
  const [factor, setFactor] = useState(0.5)
  const [end, setEnd] = useState(firstEnd)
  const [reason, setReason] = useState('')
  const endBody = bodyOf(end)
  const isWhole = isFactor(factor) && endBody !== undefined
  return (
    <FormDialog
      {...ends}
      title={`Scale ${shortText(plan.name)}`}
      button={`Scale ${shortText(plan.name, 20)} by ${isFactor(factor) ? factor : '…'} ${forText(end)}`}
      means={isFactor(factor) ? scaleText(plan, factor, untilText(end)) : 'A factor is from 0.001 to 1000.'}
      body={
        isWhole ? { kind: 'scale', plan: plan.name, factor, ...endBody, ...(reason && { reason }) } : null
      }
    >
      <FactorField value={factor} set={setFactor} />
      <EndField end={end} set={setEnd} />
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
