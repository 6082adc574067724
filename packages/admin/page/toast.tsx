import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { Store, useStore } from './store.ts'

const SHOWN_MS = 8_000

const toast = new Store('')

export function say(sentence: string): void {
  toast.set(sentence)
}

export function Toast(): VNode {
  const sentence = useStore(toast)
  useEffect(() => {
    if (sentence === '') return undefined
    const timer = window.setTimeout(() => toast.set(''), SHOWN_MS)
    return () => window.clearTimeout(timer)
  }, [sentence])
  return (
    <div class="toast" role="status">
      {sentence && <p dir="auto">{sentence}</p>}
    </div>
  )
}
