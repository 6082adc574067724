import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { StateAnswer, SubjectAnswer } from '../../src/answers.ts'
import { limitText, numberText, shortText } from '../words.ts'
import type { FormGiven } from './actions.tsx'
import { FormDialog } from './dialog.tsx'
import { bodyOf, EndField, firstEnd, untilText } from './end.tsx'
import { Choice, NumberField, SelectField, TextField } from './fields.tsx'
import { forgetText, renewText, resetText, topUpText, windowEndText } from './meaning.ts'
import { accountOf, buttonName, titleName, whomOf } from './whom.ts'

function bookable({ limits }: SubjectAnswer): readonly StateAnswer[] {
  return limits.filter(({ quotaUnit }) => quotaUnit !== 'concurrent-requests')
}

/** Where units come back one by one, there is no time at which a top-up would begin to pay. */
export function topUppable(subject: SubjectAnswer): readonly StateAnswer[] {
  return bookable(subject).filter(({ hasWindows }) => hasWindows !== false)
}

interface LimitGiven {
  readonly limits: readonly StateAnswer[]
  readonly value: string
  readonly set: (name: string) => void
}

function LimitField({ limits, value, set }: LimitGiven): VNode {
  const options = limits.map(
    (limit) => [limit.name, `${shortText(limit.name)}: ${limitText(limit)}`] as const,
  )
  return <SelectField label="Limit" value={value} set={set} options={options} />
}

/** So that a change that is sent twice counts once. */
function ownKey(): string {
  return `page-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`
}

function KeyField({ value, set }: Omit<LimitGiven, 'limits'>): VNode {
  return (
    <TextField
      label="Order or invoice number"
      value={value}
      set={set}
      placeholder="Such as order-17"
      help="May be left out. The same number counts once."
    />
  )
}

/** The longest window is what people pay for. */
function firstLimit(limits: readonly StateAnswer[]): string {
  return limits.toSorted((one, other) => other.windowMs - one.windowMs)[0]?.name ?? ''
}

const ENDS = [
  ['window', 'Its window ends'],
  ['end', 'A time'],
] as const

export function TopUpDialog({ subject, ...ends }: FormGiven): VNode {
  const limits = topUppable(subject)
  const [name, setName] = useState(() => firstLimit(limits))
  const limit = limits.find((one) => one.name === name)
  const [units, setUnits] = useState(() => Math.max(Math.round((limit?.quota ?? 1000) / 10), 1))
  const [way, setWay] = useState<'window' | 'end'>('window')
  const [end, setEnd] = useState(firstEnd)
  const [key, setKey] = useState('')
  const [given] = useState(ownKey)
  const endBody = way === 'window' ? {} : bodyOf(end)
  const isWhole = limit !== undefined && units > 0 && Number.isInteger(units) && endBody !== undefined
  const booking = {
    kind: 'topUp',
    ...accountOf(subject),
    limit: name,
    units,
    key: key.trim() || given,
  } as const
  return (
    <FormDialog
      {...ends}
      title={`Top up ${titleName(subject)}`}
      button={`Give ${buttonName(subject)} ${numberText(units || 0)} units`}
      means={topUpText(limit, units, way === 'window' ? windowEndText(limit) : untilText(end))}
      body={isWhole ? { ...booking, ...endBody } : null}
    >
      <LimitField limits={limits} value={name} set={setName} />
      <NumberField label="Units" value={units} set={setUnits} min={1} max={1e12} step={1} />
      <Choice legend="They are there until" value={way} set={setWay} options={ENDS} />
      {way === 'end' && <EndField end={end} set={setEnd} />}
      <KeyField value={key} set={setKey} />
    </FormDialog>
  )
}

export function RenewDialog({ subject, ...ends }: FormGiven): VNode {
  const limits = bookable(subject)
  const [name, setName] = useState(() => firstLimit(limits))
  const [key, setKey] = useState('')
  const [given] = useState(ownKey)
  const limit = limits.find((one) => one.name === name)
  const booking = { kind: 'renew', ...accountOf(subject), limit: name, key: key.trim() || given } as const
  return (
    <FormDialog
      {...ends}
      title={`Renew a limit of ${titleName(subject)}`}
      button={`Renew ${shortText(name, 20)} of ${buttonName(subject)}`}
      means={renewText(limit)}
      body={limit ? booking : null}
    >
      <LimitField limits={limits} value={name} set={setName} />
      <KeyField value={key} set={setKey} />
    </FormDialog>
  )
}

export function ResetDialog({ subject, ...ends }: FormGiven): VNode {
  return (
    <FormDialog
      {...ends}
      title={`Reset ${titleName(subject)}`}
      button={`Reset all limits of ${buttonName(subject)}`}
      means={resetText(subject)}
      body={{ kind: 'reset', ...accountOf(subject) }}
    />
  )
}

export function ForgetDialog({ subject, ...ends }: FormGiven): VNode {
  return (
    <FormDialog
      {...ends}
      title={`Forget the plan of ${titleName(subject)}`}
      button={`Forget the plan of ${buttonName(subject)}`}
      means={forgetText(subject)}
      body={{ kind: 'forgetPlan', ...whomOf(subject) }}
    />
  )
}
