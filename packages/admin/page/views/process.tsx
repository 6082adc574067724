import type { VNode } from 'preact'
import type { ProcessAnswer } from '../../src/answers.ts'
import { Bone, Panel } from '../parts/panel.tsx'
import { numberText } from '../words.ts'

const RULES: Readonly<Record<NonNullable<ProcessAnswer['rules']>, string>> = {
  current: 'current',
  stale: 'stale: they could not be read again',
  unread: 'not read yet',
  off: 'off',
}

const NAMES = ['Pending', 'In flight', 'Waiting', 'Units on lease', 'Store errors', 'Rules'] as const

function valuesOf(process: ProcessAnswer): readonly string[] {
  const { pending, inFlight, waiting, leasedUnits, storeErrors, rules } = process
  const numbers = [pending, inFlight, waiting, leasedUnits, storeErrors].map(numberText)
  return [...numbers, rules ? RULES[rules] : 'off']
}

interface Given {
  readonly process: ProcessAnswer | null
  readonly oldAt: number | undefined
}

export function Process({ process, oldAt }: Given): VNode {
  const values = process && valuesOf(process)
  return (
    <Panel title="This process" covers="The one that serves this page" oldAt={oldAt}>
      <dl class="facts">
        {NAMES.map((name, nth) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="number">{values ? values[nth] : <Bone width="3em" />}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
