import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { durationText, timeText, utcText } from '../words.ts'

interface Given {
  readonly at: string | number
  readonly hasSeconds?: boolean
}

export function Time({ at, hasSeconds = false }: Given): VNode {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <span>{String(at)}</span>
  return (
    <time dateTime={date.toISOString()} title={utcText(at)}>
      {timeText(at, hasSeconds)}
    </time>
  )
}

export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs)
    return () => window.clearInterval(timer)
  }, [everyMs])
  return now
}

/** Such as `12 s ago`, as it goes on. */
export function Ago({ at }: { readonly at: number }): VNode {
  const now = useNow()
  return <span class="number">{durationText(Math.max(now - at, 0))} ago</span>
}
