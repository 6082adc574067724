import type { VNode } from 'preact'
import type { StateAnswer, SubjectAnswer } from '../../src/answers.ts'
import { Bone, Panel } from '../parts/panel.tsx'
import { Bar } from '../parts/share.tsx'
import { durationText, limitText, numberText, shareText, shownText, utcText } from '../words.ts'

/** What there is when nothing is used: a burst can be larger than the quota of a second. */
export function wholeOf({ used, quota, remaining, toppedUp = 0 }: StateAnswer): number {
  return Math.max(quota, used + remaining - toppedUp)
}

export function shareOf(limit: StateAnswer): number {
  const whole = wholeOf(limit)
  return whole > 0 ? limit.used / whole : limit.used > 0 ? 1 : 0
}

export function Limits({ subject }: { readonly subject: SubjectAnswer | null }): VNode {
  return (
    <Panel title="Limits" covers="Read again every two seconds">
      {subject?.limits.length === 0 && <p class="none">No limit holds for it.</p>}
      <ul class="limits">
        {subject
          ? subject.limits.map((limit) => <Limit key={limit.name} limit={limit} />)
          : [1, 2].map((nth) => <LimitBones key={nth} />)}
      </ul>
    </Panel>
  )
}

function LimitBones(): VNode {
  return (
    <li class="limit" aria-hidden="true">
      <div class="limit-head">
        <h3>
          <Bone width="6em" />
        </h3>
      </div>
      <Bone />
      <p class="limit-facts">
        <Bone width="14em" />
      </p>
    </li>
  )
}

function factsOf(limit: StateAnswer): readonly string[] {
  const { quota, toppedUp = 0, held = 0, over = 0 } = limit
  const whole = wholeOf(limit)
  return [
    ...(whole > quota ? [`burst of ${numberText(whole)}`] : []),
    ...(toppedUp > 0 ? [`${numberText(toppedUp)} topped up`] : []),
    ...(held > 0 ? [`${numberText(held)} held for requests to come`] : []),
    ...(over > 0 ? [`${numberText(over)} over the quota`] : []),
  ]
}

function Limit({ limit }: { readonly limit: StateAnswer }): VNode {
  const { name, used, remaining, quotaUnit } = limit
  const share = shareOf(limit)
  const isConcurrent = quotaUnit === 'concurrent-requests'
  return (
    <li class={remaining <= 0 ? 'limit used-up' : 'limit'}>
      <div class="limit-head">
        <h3>
          <bdi>{shownText(name)}</bdi> <span class="soft">{limitText(limit)}</span>
        </h3>
        <span class="number share-figure">{shareText(share)}</span>
      </div>
      <Bar share={share} tone={remaining <= 0 ? 'refused' : 'used'} />
      <p class="limit-facts number">
        <span>
          <b>{numberText(used)}</b> of {numberText(wholeOf(limit))} {isConcurrent ? 'in flight' : 'used'}
        </span>
        <span class={remaining <= 0 ? 'refused-text' : ''}>
          <b>{numberText(Math.max(remaining, 0))}</b> left
        </span>
        {factsOf(limit).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {!isConcurrent && <Back limit={limit} />}
      </p>
    </li>
  )
}

function Back({ limit: { resetMs, backAt } }: { readonly limit: StateAnswer }): VNode {
  return (
    <span class="soft" title={backAt ? utcText(backAt) : undefined}>
      {resetMs > 0 ? `more in ${durationText(resetMs)}` : 'all there'}
    </span>
  )
}
