import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ChangeBody, PlanAnswer } from '../../src/answers.ts'
import { useSession } from '../session.ts'
import { shortText } from '../words.ts'
import type { FormGiven } from './actions.tsx'
import { FormDialog } from './dialog.tsx'
import { bodyOf, EndField, firstEnd, forText, untilText } from './end.tsx'
import { FactorField, isFactor } from './factor.tsx'
import { Choice, ReasonField, SelectField, TextField } from './fields.tsx'
import { factorText, ownLimitsText, planText } from './meaning.ts'
import { buttonName, reasonOf, titleName, whomOf } from './whom.ts'

type Way = 'factor' | 'plan' | 'limits' | 'unlimited'

const WAYS: readonly (readonly [Way, string])[] = [
  ['factor', 'Times its limits'],
  ['plan', 'Limits of a plan'],
  ['limits', 'Own limits'],
  ['unlimited', 'No limit'],
]

interface Chosen {
  readonly way: Way
  readonly factor: number
  readonly toPlan: string
  readonly written: string
}

function writtenLimits({ written }: Chosen): readonly string[] {
  return written.split(/[\s,]+/).filter((one) => one !== '')
}

type Terms = Pick<ChangeBody, 'factor' | 'toPlan' | 'limits'>

/** undefined: something is missing. */
function termsOf(chosen: Chosen): Terms | undefined {
  const { way, factor, toPlan } = chosen
  if (way === 'factor') return isFactor(factor) ? { factor } : undefined
  if (way === 'plan') return toPlan === '' ? undefined : { toPlan }
  if (way === 'unlimited') return { limits: 'unlimited' }
  const limits = writtenLimits(chosen)
  return limits.length > 0 ? { limits } : undefined
}

function meansText(chosen: Chosen, subject: FormGiven['subject'], plans: readonly PlanAnswer[]): string {
  const { way, factor, toPlan } = chosen
  if (way === 'unlimited') return 'No limit holds for it.'
  if (way === 'limits') return ownLimitsText(subject, writtenLimits(chosen))
  if (way === 'plan') {
    const plan = plans.find(({ name }) => name === toPlan)
    return plan ? planText(subject, plan) : 'Choose a plan.'
  }
  const own = plans.find(({ name }) => name === subject.plan)
  return isFactor(factor) ? factorText(subject, own, factor) : 'A factor is from 0.001 to 1000.'
}

interface TermsGiven {
  readonly chosen: Chosen
  readonly set: (chosen: Chosen) => void
  readonly plans: readonly PlanAnswer[]
}

function TermsFields({ chosen, set, plans }: TermsGiven): VNode {
  const ways = plans.length > 0 ? WAYS : WAYS.filter(([way]) => way !== 'plan')
  return (
    <>
      <Choice
        legend="Instead of its limits"
        value={chosen.way}
        set={(way) => set({ ...chosen, way })}
        options={ways}
      />
      {chosen.way === 'factor' && (
        <FactorField value={chosen.factor} set={(factor) => set({ ...chosen, factor })} />
      )}
      {chosen.way === 'plan' && (
        <SelectField
          label="Plan"
          value={chosen.toPlan}
          set={(toPlan) => set({ ...chosen, toPlan })}
          options={plans.map(({ name }) => [name, shortText(name)])}
        />
      )}
      {chosen.way === 'limits' && (
        <TextField
          label="Limits"
          value={chosen.written}
          set={(written) => set({ ...chosen, written })}
          placeholder="5000/min, 100000/d"
          help="Such as 5000/min, with commas between them."
        />
      )}
    </>
  )
}

export function OverrideDialog({ subject, ...ends }: FormGiven): VNode {
  const plans = useSession()?.plans ?? []
  const other = plans.find(({ name }) => name !== subject.plan)?.name ?? ''
  const [chosen, setChosen] = useState<Chosen>({ way: 'factor', factor: 2, toPlan: other, written: '' })
  const [end, setEnd] = useState(firstEnd)
  const [reason, setReason] = useState('')
  const terms = termsOf(chosen)
  const endBody = bodyOf(end)
  const isWhole = terms !== undefined && endBody !== undefined
  return (
    <FormDialog
      {...ends}
      title={`Override ${titleName(subject)}`}
      button={`Override ${buttonName(subject)} ${forText(end)}`}
      means={`${meansText(chosen, subject, plans)} This holds ${untilText(end)}.`}
      body={
        isWhole ? { kind: 'override', ...whomOf(subject), ...terms, ...endBody, ...reasonOf(reason) } : null
      }
    >
      <TermsFields chosen={chosen} set={setChosen} plans={plans} />
      <EndField end={end} set={setEnd} />
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
