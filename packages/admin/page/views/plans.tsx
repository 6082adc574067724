import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PlansAnswer } from '../../src/answers.ts'
import { useFetched } from '../fetched.ts'
import { ScaleDialog } from '../forms/scale.tsx'
import { Bone, Panel, Problem } from '../parts/panel.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.ts'
import { limitText, shortText, shownText } from '../words.ts'
import { coverageText } from './coverage.ts'
import { effectText } from './effect.ts'
import { BUSY, NEAR } from './rankings.tsx'

const EVERY_MS = 2_000

type Plan = PlansAnswer['plans'][number]

export function Plans(): VNode {
  const { answer, problem, at, refetch } = useFetched<PlansAnswer>('api/plans', EVERY_MS)
  const oldAt = problem !== '' && answer ? at : undefined
  return (
    <>
      <div class="title">
        <h1>Plans</h1>
        <p class="covers">
          {answer
            ? coverageText(
                answer,
                answer.plans.flatMap(({ busiest }) => busiest),
              )
            : 'Reading'}
        </p>
      </div>
      <Problem says={problem} />
      {answer?.plans.length === 0 && <NoPlans />}
      {answer?.plans.map((plan) => (
        <PlanPanel key={plan.name} plan={plan} refetch={refetch} oldAt={oldAt} />
      ))}
      {!answer && problem === '' && <PlanBones />}
    </>
  )
}

function NoPlans(): VNode {
  return (
    <section class="notice" aria-labelledby="no-plans">
      <h2 id="no-plans">The plans are not known</h2>
      <p>This process was not told them, and nobody was seen on one in the last minute.</p>
    </section>
  )
}

function PlanBones(): VNode {
  return (
    <Panel title="Reading the plans">
      <p class="plan-limits">
        <Bone width="20em" />
      </p>
    </Panel>
  )
}

interface PlanGiven {
  readonly plan: Plan
  readonly refetch: () => void
  readonly oldAt: number | undefined
}

function PlanPanel({ plan, refetch, oldAt }: PlanGiven): VNode {
  const { name, isDefault, limits, busiest, nearest } = plan
  return (
    <Panel
      title={shownText(name)}
      name="plan-panel"
      oldAt={oldAt}
      tools={<ScaleButton plan={plan} refetch={refetch} />}
    >
      <p class="plan-limits">
        {limits.length === 0 ? 'Its limits are not known here' : limits.map(limitText).join(' · ')}
        {isDefault && <span class="badge">default</span>}
      </p>
      <ScaleLine plan={plan} />
      <div class="columns two">
        <Table
          caption={`The busiest customers on ${shownText(name)}`}
          columns={BUSY}
          rows={busiest}
          keyOf={({ subject }) => subject}
          none="Nobody on it sent a request."
          first={5}
        />
        <Table
          caption={`The customers on ${shownText(name)} that are nearest to a limit`}
          columns={NEAR}
          rows={nearest}
          keyOf={({ subject, limit }) => `${subject} ${limit}`}
          none="Nobody on it is near a limit."
          first={5}
        />
      </div>
    </Panel>
  )
}

function ScaleLine({ plan: { scale } }: { readonly plan: Plan }): VNode | null {
  if (!scale) return null
  return (
    <p class="scale-line">
      {effectText(scale)}, until <Time at={scale.until} />
      {scale.by && <>, by {shortText(scale.by)}</>}
      {scale.reason && (
        <>
          : <bdi>{shownText(scale.reason)}</bdi>
        </>
      )}
    </p>
  )
}

function ScaleButton({ plan, refetch }: Omit<PlanGiven, 'oldAt'>): VNode | null {
  const [isOpen, setOpen] = useState(false)
  if (!useMay('scale')) return null
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Scale ${shortText(plan.name)}`}
        onClick={() => setOpen(true)}
      >
        Scale
      </button>
      {isOpen && <ScaleDialog plan={plan} onDone={refetch} onClose={() => setOpen(false)} />}
    </>
  )
}
