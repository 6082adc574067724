import type { VNode } from 'preact'
import type { SubjectAnswer } from '../../src/answers.ts'
import { useFetched } from '../fetched.ts'
import { Actions } from '../forms/actions.tsx'
import { CopyButton, Name } from '../parts/name.tsx'
import { live } from '../live.ts'
import { Bone, Panel, Problem } from '../parts/panel.tsx'
import { Ago } from '../parts/time.tsx'
import { subjectPath, type Customer } from '../route.ts'
import { countText, durationText, numberText, rateText } from '../words.ts'
import { BlockedBanner } from './blocked.tsx'
import { Denials } from './denials.tsx'
import { HistoryTable, RulesTable } from './rule-tables.tsx'
import { Limits } from './limits.tsx'
import { UseChart } from './use-chart.tsx'

const EVERY_MS = 2_000

const SAID: Readonly<Record<SubjectAnswer['planFrom'], string>> = {
  operator: 'as its requests said when this page was opened',
  application: 'the application says so',
  requests: 'its last requests had it',
  denial: 'its last refusal had it',
  counts: 'the one on which it has used units',
  default: 'nobody said its plan, so this is the default',
}

export function CustomerPage({ customer }: { readonly customer: Customer }): VNode {
  const path = subjectPath(customer)
  const { answer, problem, at, refetch } = useFetched<SubjectAnswer>(path, EVERY_MS)
  const isOld = problem !== '' && answer !== null
  return (
    <>
      <Heading customer={customer} answer={answer} />
      {problem !== '' && (
        <div class="notice outage">
          <Problem says={problem} />
          {isOld && (
            <p class="soft">
              What is shown was true <Ago at={at} />. Trying again every two seconds.
            </p>
          )}
        </div>
      )}
      {(answer || problem === '') && <Sections answer={answer} path={path} refetch={refetch} isOld={isOld} />}
    </>
  )
}

interface SectionsGiven {
  readonly answer: SubjectAnswer | null
  readonly path: string
  readonly refetch: () => void
  readonly isOld: boolean
}

function Sections({ answer, path, refetch, isOld }: SectionsGiven): VNode {
  return (
    <>
      {answer?.blocked && <BlockedBanner subject={answer} blocked={answer.blocked} refetch={refetch} />}
      {answer && isUnknown(answer) && <Unknown />}
      <div class={isOld ? 'split old' : 'split'}>
        <div class="main-column">
          <Limits subject={answer} />
          <UseChart key={path} subject={answer} />
        </div>
        <Actions subject={answer} refetch={refetch} />
      </div>
      <Denials subject={answer} />
      <Panel title="Rules that hold for it">
        <RulesTable rules={answer?.rules ?? null} refetch={refetch} none="No rule holds for it." />
      </Panel>
      <Panel title="History" covers="What was changed for it, the latest first">
        <HistoryTable history={answer?.history ?? null} none="Nothing was changed for it." />
      </Panel>
    </>
  )
}

/** Whether it could be a mistyped id. */
function isUnknown({ traffic, denials, rules, history, limits }: SubjectAnswer): boolean {
  const isUsed = limits.some(({ used, over = 0, toppedUp = 0 }) => used + over + toppedUp > 0)
  return !traffic && !isUsed && [denials, rules, history].every(({ length }) => length === 0)
}

function Unknown(): VNode {
  return (
    <section class="notice" aria-labelledby="unknown">
      <h2 id="unknown">Nothing is known of it</h2>
      <p>
        It was not seen in the last minute, it has used nothing, and nothing was changed for it. Is this its
        id, as the application writes it?
      </p>
    </section>
  )
}

interface HeadingGiven {
  readonly customer: Customer
  readonly answer: SubjectAnswer | null
}

function Heading({ customer, answer }: HeadingGiven): VNode {
  return (
    <div class="title customer-title">
      <p class="soft over-title">
        {(answer?.isAddress ?? customer.isAddress) ? 'Client address' : 'Customer'}
      </p>
      <div class="name-line">
        <h1>
          <Name id={answer?.id ?? customer.id} />
        </h1>
        <CopyButton text={answer?.id ?? customer.id} />
      </div>
      <p class="lead">{answer ? <Standing answer={answer} /> : <Bone width="28em" />}</p>
    </div>
  )
}

function Standing({ answer }: { readonly answer: SubjectAnswer }): VNode {
  const { plan, planFrom, isOverridden } = answer
  return (
    <>
      Plan{' '}
      <b>
        <bdi>{plan}</bdi>
      </b>
      : {SAID[planFrom]}
      {isOverridden && ', and an override replaces its limits'}. <Traffic answer={answer} />
    </>
  )
}

function Traffic({ answer: { traffic } }: { readonly answer: SubjectAnswer }): VNode {
  if (!traffic) return <>It was not seen in the last minute.</>
  const { requests, denied, error } = traffic
  const seconds = Math.max((live.value.figures?.coversMs ?? 60_000) / 1000, 1)
  const about = error > 0 ? 'about ' : ''
  return (
    <>
      In the last {durationText(Math.round(seconds) * 1000)} it sent {about}
      {countText(requests, 'request')} ({rateText(requests / seconds)} a second), and{' '}
      {denied === 0 ? 'none was' : `${numberText(denied)} were`} refused.
    </>
  )
}
