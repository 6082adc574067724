import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ChangeKind, SessionAnswer } from '../src/answers.ts'

export const Session = createContext<SessionAnswer | null>(null)

/** Whether who looks may do so; not as long as the server has not said it. */
export function useMay(kind: ChangeKind): boolean {
  return useSession()?.actions.includes(kind) ?? false
}

/** null until the server has said who looks. */
export function useSession(): SessionAnswer | null {
  return useContext(Session)
}
