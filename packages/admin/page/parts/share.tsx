import type { VNode } from 'preact'
import { shareText } from '../words.ts'

interface Given {
  readonly share: number
  readonly tone: 'used' | 'refused'
}

export function Bar({ share, tone }: Given): VNode {
  const part = Math.min(Math.max(share, 0), 1)
  return (
    <span class={`bar ${tone} ${share > 1 ? 'over' : ''}`} aria-hidden="true">
      <i style={{ width: `${(part * 100).toFixed(2)}%` }} />
    </span>
  )
}

/** A number, and a bar for the eye. */
export function Share({ share, tone }: Given): VNode {
  return (
    <span class="share">
      <Bar share={share} tone={tone} />
      <span class="number">{shareText(share)}</span>
    </span>
  )
}
