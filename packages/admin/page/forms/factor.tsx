import type { VNode } from 'preact'
import { NumberField } from './fields.tsx'

export function isFactor(value: number): boolean {
  return value >= 0.001 && value <= 1000
}

interface Given {
  readonly value: number
  readonly set: (value: number) => void
}

export function FactorField({ value, set }: Given): VNode {
  return (
    <NumberField
      label="Factor"
      value={value}
      set={set}
      min={0.001}
      max={1000}
      step="any"
      help="2 doubles each limit, 0.5 halves it. Limits of requests in flight stay."
    />
  )
}
