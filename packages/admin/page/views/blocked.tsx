import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { SubjectAnswer } from '../../src/answers.ts'
import { LiftDialog } from '../forms/lift.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.ts'
import { shownText, shortText } from '../words.ts'

interface Given {
  readonly subject: SubjectAnswer
  readonly blocked: NonNullable<SubjectAnswer['blocked']>
  readonly refetch: () => void
}

export function BlockedBanner({ subject, blocked, refetch }: Given): VNode {
  const [isOpen, setOpen] = useState(false)
  const mayUnblock = useMay('unblock')
  const { until, reason, byItself } = blocked
  const isByRule = subject.rules.some(({ kind }) => kind === 'block')
  return (
    <section class="notice blocked" aria-labelledby="blocked">
      <h2 id="blocked">Blocked {until ? <>until {<Time at={until} />}</> : 'without an end'}</h2>
      <p>
        All its requests are refused.{' '}
        {byItself
          ? 'The block came by itself, after too many refusals.'
          : isByRule
            ? 'A rule says so.'
            : 'Its plan or the block list says so.'}
        {reason && (
          <>
            {' '}
            Reason: <bdi>{shownText(reason)}</bdi>.
          </>
        )}
      </p>
      {mayUnblock && (
        <button type="button" onClick={() => setOpen(true)}>
          Unblock
        </button>
      )}
      {isOpen && (
        <LiftDialog
          title={`Unblock ${shortText(subject.id)}`}
          button={`Unblock ${shortText(subject.id, 20)}`}
          means="Its next request is decided by its limits again."
          body={{ kind: 'unblock', id: subject.id, isAddress: subject.isAddress }}
          onDone={refetch}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  )
}
