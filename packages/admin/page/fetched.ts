import { useCallback, useEffect, useState } from 'preact/hooks'
import { get } from './api.ts'
import { live } from './live.ts'

export interface Fetched<T> {
  readonly answer: T | null
  /** Why the latest try failed; the answer is the one before then. */
  readonly problem: string
  /** When the answer came. */
  readonly at: number
  readonly refetch: () => void
}

interface Held<T> {
  readonly path: string
  readonly answer: T | null
  readonly problem: string
  readonly at: number
}

/** After a failure it is asked again sooner. */
const RETRY_MS = 2_000

function mayAsk(): boolean {
  return !document.hidden && live.value.connection !== 'denied'
}

/** What a path answers: again each `everyMs` while the page is seen. */
export function useFetched<T>(path: string, everyMs: number): Fetched<T> {
  const [held, setHeld] = useState<Held<T>>({ path, answer: null, problem: '', at: 0 })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const control = new AbortController()
    let timer: number | undefined
    const again = async (): Promise<void> => {
      const isRead = mayAsk() && (await fetchInto(path, control.signal, setHeld))
      const pause = isRead ? everyMs : Math.min(RETRY_MS, everyMs)
      if (!control.signal.aborted) timer = window.setTimeout(() => void again(), pause)
    }
    void again()
    return () => {
      control.abort()
      window.clearTimeout(timer)
    }
  }, [path, everyMs, turn])
  const refetch = useCallback(() => setTurn((last) => last + 1), [])
  const isOfPath = held.path === path
  return {
    answer: isOfPath ? held.answer : null,
    problem: isOfPath ? held.problem : '',
    at: held.at,
    refetch,
  }
}

type SetHeld<T> = (next: (last: Held<T>) => Held<T>) => void

async function fetchInto<T>(path: string, signal: AbortSignal, setHeld: SetHeld<T>): Promise<boolean> {
  try {
    const answer = await get<T>(path, signal)
    setHeld(() => ({ path, answer, problem: '', at: Date.now() }))
    return true
  } catch (error) {
    if (signal.aborted) return false
    const problem = error instanceof Error ? error.message : String(error)
    setHeld((last) => ({ path, answer: last.path === path ? last.answer : null, problem, at: last.at }))
    return false
  }
}
